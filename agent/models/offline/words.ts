/**
 * The offline model's texts in English, Vietnamese and Chinese, and its language detection.
 * reply.ts decides when each text is used.
 */

export type Language = 'en' | 'vi' | 'zh';

/**
 * Detects Chinese by its characters, Vietnamese by letters unique to it here; everything else is
 * English.
 */
export const languageOf = (text: string): Language => {
  if (/\p{Script=Han}/u.test(text)) return 'zh';
  return /[ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]|\b(xin ch[aà]o|ch[aà]o b[aạ]n)/i.test(
    text,
  )
    ? 'vi'
    : 'en';
};

export type Words = {
  readonly greeting: string;
  readonly about: string;
  readonly help: string;
  readonly thanks: string;
  first(text: string): string;
  previous(text: string): string;
  readonly nothingYet: string;
  count(messages: number): string;
  name(name: string): string;
  readonly noName: string;
  toolSaid(name: string, result: string): string;
  toolFailed(name: string, result: string): string;
  noTool(name: string, tools: readonly string[]): string;
  received(text: string, words: number): string;
  thinking(words: number): string;
  /** results of messages to other agents, and of subagents */
  agentSaid(agent: string, reply: string): string;
  messageSent(agent: string): string;
  agentWorks(agent: string): string;
  agentNot(agent: string, why: string): string;
  subagentBegan(agent: string): string;
  /** the next message to another agent in an exchange */
  noted(text: string): string;
  /** the report of an exchange to users */
  settled(text: string): string;
  /** introduces the results of subagents */
  results(count: number): string;
};

const en: Words = {
  greeting:
    'Hello! I am troupe-offline, the model that comes with troupe. What would you like to try? ' +
    'Say "help" to see what I can do without a network.',
  about:
    'I am troupe-offline, the offline model that comes with troupe. I run inside this process, follow ' +
    'fixed rules and do not think. To talk to a real model, set ANTHROPIC_API_KEY or OPENAI_API_KEY in ' +
    'the environment and start troupe again, or run a local one: "troupe doctor" finds it.',
  help:
    'I can show how troupe works. Try one of these:\n' +
    '- memory: "what did I say first?"\n' +
    '- a tool: "what time is it?", or "use the tool calculate 2+2"\n' +
    '- a subagent: "delegate to main: hello"\n' +
    '- a schedule: call cron {"action": "add", "text": "hello", "everySeconds": 60}\n' +
    '- a question to another agent: "ask NAME: what time is it?"\n' +
    'I am the offline model and do not think. "troupe doctor" shows how to add a real one.',
  thanks: 'You are welcome. Anything else about troupe?',
  first: (text) => `The first thing you said was: "${text}"`,
  previous: (text) => `Before this you said: "${text}"`,
  nothingYet: 'You have not said anything before this.',
  count: (messages) =>
    `You have sent ${messages} ${messages === 1 ? 'message' : 'messages'} so far.`,
  name: (name) => `Your name is ${name}.`,
  noName: 'I do not know your name yet.',
  toolSaid: (name, result) => `The tool ${name} answered: ${result}`,
  toolFailed: (name, result) => `The tool ${name} failed: ${result}`,
  noTool: (name, tools) =>
    `I have no tool named ${name} here. ${tools.length ? `I have: ${tools.join(', ')}.` : 'I have none.'}`,
  received: (text, words) =>
    `I read ${words} ${words === 1 ? 'word' : 'words'}: "${text}"\n` +
    `I am the offline model of troupe and cannot think about ${words === 1 ? 'it' : 'them'}. Say "help" to ` +
    'see what I can do. For real answers, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or see "troupe doctor".',
  thinking: (words) =>
    `The message has ${words} words. I look for a rule that fits and answer by it.`,
  agentSaid: (agent, reply) => `${agent} answered: ${reply}`,
  messageSent: (agent) => `${agent} will get my message.`,
  agentWorks: (agent) => `${agent} has my message and still works on it.`,
  agentNot: (agent, why) => `${agent} gave no answer: ${why}`,
  subagentBegan: (agent) => `A subagent (${agent}) works on it and will report.`,
  noted: (text) => `I have read "${text}" and continue from there.`,
  settled: (text) => `Another agent asked about this, and we came to: ${text}`,
  results: (count) =>
    count === 1 ? 'The subagent has ended:' : `The ${count} subagents have ended:`,
};

const vi: Words = {
  greeting:
    'Xin chào! Tôi là troupe-offline, mô hình đi kèm với troupe. Bạn muốn thử gì? ' +
    'Hãy nói "trợ giúp" để xem tôi làm được gì khi không có mạng.',
  about:
    'Tôi là troupe-offline, mô hình ngoại tuyến đi kèm với troupe. Tôi chạy ngay trong tiến trình này, ' +
    'theo các quy tắc cố định và không suy nghĩ. Để dùng mô hình thật, hãy đặt ANTHROPIC_API_KEY hoặc ' +
    'OPENAI_API_KEY trong môi trường rồi khởi động lại troupe, hoặc chạy một mô hình trên máy này: ' +
    '"troupe doctor" sẽ tìm thấy nó.',
  help:
    'Tôi có thể cho thấy troupe hoạt động thế nào. Hãy thử:\n' +
    '- trí nhớ: "tôi nói gì đầu tiên?"\n' +
    '- công cụ: "mấy giờ rồi?" hoặc "dùng công cụ calculate 2+2"\n' +
    '- agent con: "giao cho main: xin chào"\n' +
    '- lịch: call cron {"action": "add", "text": "xin chào", "everySeconds": 60}\n' +
    '- hỏi agent khác: "hỏi agent TÊN: mấy giờ rồi?"\n' +
    'Tôi là mô hình ngoại tuyến và không suy nghĩ. "troupe doctor" chỉ cách thêm mô hình thật.',
  thanks: 'Không có gì. Bạn còn muốn hỏi gì về troupe không?',
  first: (text) => `Điều đầu tiên bạn nói là: "${text}"`,
  previous: (text) => `Trước đó bạn đã nói: "${text}"`,
  nothingYet: 'Bạn chưa nói gì trước đó.',
  count: (messages) => `Đến giờ bạn đã gửi ${messages} tin nhắn.`,
  name: (name) => `Bạn tên là ${name}.`,
  noName: 'Bạn chưa cho tôi biết tên.',
  toolSaid: (name, result) => `Công cụ ${name} trả lời: ${result}`,
  toolFailed: (name, result) => `Công cụ ${name} gặp lỗi: ${result}`,
  noTool: (name, tools) =>
    `Ở đây tôi không có công cụ tên ${name}. ${tools.length ? `Tôi có: ${tools.join(', ')}.` : 'Tôi không có công cụ nào.'}`,
  received: (text, words) =>
    `Tôi đã đọc ${words} từ: "${text}"\nTôi là mô hình ngoại tuyến của troupe và không thể suy nghĩ về ` +
    'chúng. Hãy nói "trợ giúp" để xem tôi làm được gì. Để có câu trả lời thật, hãy đặt ANTHROPIC_API_KEY ' +
    'hoặc OPENAI_API_KEY, hoặc xem "troupe doctor".',
  thinking: (words) => `Tin nhắn có ${words} từ. Tôi tìm một quy tắc phù hợp và trả lời theo đó.`,
  agentSaid: (agent, reply) => `${agent} trả lời: ${reply}`,
  messageSent: (agent) => `${agent} sẽ nhận được tin nhắn của tôi.`,
  agentWorks: (agent) => `${agent} đã nhận tin nhắn và vẫn đang xử lý.`,
  agentNot: (agent, why) => `${agent} không trả lời: ${why}`,
  subagentBegan: (agent) => `Một agent con (${agent}) đang làm việc này và sẽ báo cáo.`,
  noted: (text) => `Tôi đã đọc "${text}" và tiếp tục từ đó.`,
  settled: (text) => `Một agent khác đã hỏi về việc này và kết quả là: ${text}`,
  results: (count) => `${count} agent con đã kết thúc:`,
};

const zh: Words = {
  greeting:
    '你好！我是 troupe-offline，troupe 自带的模型。你想试试什么？说“帮助”可以看到我在没有网络时能做什么。',
  about:
    '我是 troupe-offline，troupe 自带的离线模型。我就在这个进程里运行，按固定规则回答，并不会思考。' +
    '要使用真正的模型，请在环境变量中设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY，然后重新启动 troupe；' +
    '也可以在本机运行一个模型：“troupe doctor” 会找到它。',
  help:
    '我可以演示 troupe 的工作方式。可以试试：\n' +
    '- 记忆：“我第一句说了什么？”\n' +
    '- 工具：“现在几点？”或“使用工具 calculate 2+2”\n' +
    '- 子代理：“委托 main：你好”\n' +
    '- 定时任务：call cron {"action": "add", "text": "你好", "everySeconds": 60}\n' +
    '- 问另一个代理：“问 NAME：现在几点？”\n' +
    '我是离线模型，不会思考。“troupe doctor” 会说明如何添加真正的模型。',
  thanks: '不客气。关于 troupe 还有什么想问的吗？',
  first: (text) => `你说的第一句话是：“${text}”`,
  previous: (text) => `在此之前你说的是：“${text}”`,
  nothingYet: '在此之前你还没有说过话。',
  count: (messages) => `到目前为止你发送了 ${messages} 条消息。`,
  name: (name) => `你叫${name}。`,
  noName: '你还没有告诉我你的名字。',
  toolSaid: (name, result) => `工具 ${name} 的回答：${result}`,
  toolFailed: (name, result) => `工具 ${name} 出错：${result}`,
  noTool: (name, tools) =>
    `这里没有名为 ${name} 的工具。${tools.length ? `现有工具：${tools.join('、')}。` : '现在没有任何工具。'}`,
  received: (text, words) =>
    `我读到了 ${words} 个词：“${text}”。我是 troupe 的离线模型，无法思考它们。` +
    '说“帮助”可以看到我能做什么。要获得真正的回答，请设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY，' +
    '或者查看 “troupe doctor”。',
  thinking: (words) => `这条消息有 ${words} 个词。我找一条合适的规则来回答。`,
  agentSaid: (agent, reply) => `${agent} 回答：${reply}`,
  messageSent: (agent) => `${agent} 会收到我的消息。`,
  agentWorks: (agent) => `${agent} 已收到消息，仍在处理。`,
  agentNot: (agent, why) => `${agent} 没有回答：${why}`,
  subagentBegan: (agent) => `一个子代理（${agent}）正在处理，完成后会报告。`,
  noted: (text) => `我读了“${text}”，并由此继续。`,
  settled: (text) => `另一个代理问了这件事，结论是：${text}`,
  results: (count) => `${count} 个子代理已结束：`,
};

export const words: Readonly<Record<Language, Words>> = { en, vi, zh };
