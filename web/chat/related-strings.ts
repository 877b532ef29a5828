/** Texts about related sessions: subagents, messages of agents, forks. Loaded with them. */
import { language } from '../strings.ts';

const english = {
  subagent: (name: string) => `Subagent ${name}`,
  subagentStatus: {
    reserved: 'waits for a slot',
    starting: 'starts',
    running: 'works',
    completed: 'done',
    failed: 'failed',
    timedOut: 'took too long',
    killed: 'stopped',
    refused: 'refused',
  } as Readonly<Record<string, string>>,
  tokens: (count: number) => (count === 1 ? '1 token' : `${count} tokens`),
  findings: 'Findings',
  openSubagent: 'Open its conversation',
  startedBy: (name: string) => `Subagent of ${name}: back to its conversation`,
  saidByAgents: {
    agent: (name: string, _count: number) => `Message from ${name}`,
    announce: (name: string, _count: number) => `Result of the conversation with ${name}`,
    task: (name: string, _count: number) => `Task from ${name}`,
    subagents: (_name: string, count: number) =>
      count === 1 ? 'Result of a subagent' : `Results of ${count} subagents`,
  },
  forkHere: 'Fork here',
  forkBefore: 'Fork before this message',
  forkedFrom: (name: string, turn: number) => `Forked from ${name} at turn ${turn}`,
};

const vietnamese: typeof english = {
  subagent: (name) => `Trợ lý phụ ${name}`,
  subagentStatus: {
    reserved: 'đang chờ đến lượt chạy',
    starting: 'đang bắt đầu',
    running: 'đang làm việc',
    completed: 'đã xong',
    failed: 'thất bại',
    timedOut: 'mất quá nhiều thời gian',
    killed: 'đã bị dừng',
    refused: 'bị từ chối',
  },
  tokens: (count) => `${count} token`,
  findings: 'Kết quả',
  openSubagent: 'Mở cuộc trò chuyện của trợ lý phụ',
  startedBy: (name) => `Trợ lý phụ của ${name}: quay lại cuộc trò chuyện đó`,
  saidByAgents: {
    agent: (name) => `Tin nhắn từ ${name}`,
    announce: (name) => `Kết quả cuộc trao đổi với ${name}`,
    task: (name) => `Nhiệm vụ từ ${name}`,
    subagents: (_name, count) => `Kết quả của ${count} trợ lý phụ`,
  },
  forkHere: 'Rẽ nhánh từ đây',
  forkBefore: 'Rẽ nhánh trước tin nhắn này',
  forkedFrom: (name, turn) => `Rẽ nhánh từ ${name} tại lượt ${turn}`,
};

export const related = language === 'vi' ? vietnamese : english;
