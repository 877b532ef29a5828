/**
 * runTool: one planned call, published to clients from start to end. A tool's failure is a result
 * for the model, never a failed run.
 */
import { type Address, address } from '../../../protocols/address.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { type RunEvent, runEventsTopic, type SentMessage } from '../../../protocols/session.ts';
import { type EffectContext, inSpan, toolSpan } from '../../../runtime/index.ts';
import type { HookAbout } from '../../../agent/hooks/hooks.ts';
import { servicesOf } from '../../../agent/services.ts';
import type { ToolResult as Outcome } from '../../../agent/tools/tool.ts';
import type { PlannedCall } from '../../../agent/policy/planned-call.ts';
import type { CallToolsInput, ToolResult } from '../types.ts';
import { filesOf } from './assemble.ts';
import { fitted } from './fitted.ts';
import { outgoing } from './outgoing.ts';

/** Time limit of a call whose tool has none (Tool.timeoutMs). */
const TIMEOUT_MS = 120_000;

type ToolEvent = Extract<RunEvent, { stream: 'tool' }>;
type Phase<Name> = Omit<
  Extract<ToolEvent, { phase: Name }>,
  'runId' | 'sessionKey' | 'at' | 'stream' | 'callId' | 'name'
>;

/** Publishes the progress of a call to the clients of the session. */
export const toolEventPublisher =
  ({ tenant, sessionKey, runId }: CallToolsInput, call: PlannedCall, context: EffectContext) =>
  (event: Phase<'start'> | Phase<'update'> | Phase<'end'>): void => {
    const about = { runId, sessionKey, at: context.now(), callId: call.id, name: call.name };
    const runEvent: RunEvent = { ...about, stream: 'tool', ...event };
    context.publish(runEventsTopic(tenant, sessionKey), { type: 'run', ...runEvent });
  };

/**
 * Runs the calls in parallel. @throws TroupeError CANCELLED when the run was aborted
 */
export const runBatch = async (
  input: CallToolsInput,
  context: EffectContext,
): Promise<readonly ToolResult[]> =>
  fitted(await Promise.all(input.calls.map((call) => runTool(input, call, context))));

export const workspaceOf = ({ workspace, tenant, agentId }: CallToolsInput): Address =>
  workspace ?? address(tenant, 'agent', agentId);

async function runTool(
  input: CallToolsInput,
  call: PlannedCall,
  context: EffectContext,
): Promise<ToolResult> {
  const tell = toolEventPublisher(input, call, context);
  tell({ phase: 'start', args: call.args });
  const masked = servicesOf(context).secrets.textStream();
  const update = (delta: string) => delta === '' || tell({ phase: 'update', delta });
  const progress = (delta: string) => update(masked.add(delta));
  const outcome = await withMessages(
    input,
    await outcomeOf(input, call, context, progress),
    context,
  );
  update(masked.end());
  const { images, sent, ends, usage, isError = false } = outcome;
  const result = await afterHooks(input, call, { ...outcome, isError }, context);
  tell({ phase: 'end', result, isError });
  return {
    callId: call.id,
    name: call.name,
    result,
    isError,
    ...(images?.length ? { images } : {}),
    ...(sent?.length ? { sent } : {}),
    ...(ends?.length ? { ends } : {}),
    ...(usage ? { usage } : {}),
  };
}

async function outcomeOf(
  input: CallToolsInput,
  call: PlannedCall,
  context: EffectContext,
  update: (delta: string) => void,
): Promise<Outcome> {
  const services = servicesOf(context);
  const { tools, ask, talk, catalog, secrets } = services;
  const { tenant, agentId, sessionKey, runId } = input;
  await tools.ready();
  const limitMs = tools.get(call.name)?.timeoutMs ?? TIMEOUT_MS;
  const late = AbortSignal.timeout(limitMs);
  try {
    const env = await filesOf(services).environment(tenant, agentId, context);
    return await inSpan(
      () => toolSpan(call),
      () =>
        within(
          late,
          tools.run(call, {
            signal: AbortSignal.any([context.signal, late]),
            now: context.now(),
            idempotencyKey: `${context.id}:${call.id}`,
            tenant,
            agentId,
            sessionKey,
            runId,
            callId: call.id,
            confinement: call.confinement,
            workspace: () => context.workspace(workspaceOf(input)),
            workspaceOf: workspaceOf(input),
            update,
            system: {
              ask,
              index: () => context.index(),
              transcript: (of) => context.transcript(of),
            },
            talk,
            models: catalog,
            installed: tools.all(),
            ...(input.given ? { given: input.given } : {}),
            env,
            secrets,
          }),
        ),
    );
  } catch (error) {
    if (context.signal.aborted) throw error;
    if (late.aborted)
      return { text: `${call.name} took longer than ${limitMs} ms and was ended.`, isError: true };
    return { text: secrets.text(errorData(error).message), isError: true };
  }
}

/** Hooks change messages into this conversation, which users see as they see replies. */
async function withMessages(
  { tenant, agentId, sessionKey, runId, chat }: CallToolsInput,
  outcome: Outcome,
  context: EffectContext,
): Promise<Outcome> {
  const { hooks } = servicesOf(context);
  const about: HookAbout = { tenant, agentId, sessionKey, runId };
  const sent: SentMessage[] = [];
  try {
    for (const message of outcome.sent ?? []) {
      const { to, ...content } = message;
      const isHere = to === sessionKey;
      const left = isHere ? await outgoing({ ...content, ...chat }, hooks, about) : content.text;
      if (left === '') return { text: 'Not sent: a hook cancelled the message.', isError: true };
      sent.push({ ...message, text: left });
    }
  } catch (error) {
    return { text: `Not sent: ${errorData(error).message}`, isError: true };
  }
  return outcome.sent ? { ...outcome, sent } : outcome;
}

/** Ends the wait at the time limit, even for a tool that ignores its signal. */
const within = <Value>(late: AbortSignal, work: Promise<Value>): Promise<Value> =>
  new Promise((resolve, reject) => {
    const leave = () =>
      reject(new TroupeError('DEADLINE_EXCEEDED', 'the call exceeded its time limit'));
    late.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => late.removeEventListener('abort', leave));
  });

/** The result with the changes of hooks, as the transcript stores it. */
async function afterHooks(
  { tenant, agentId, sessionKey, runId }: CallToolsInput,
  { id: callId, name, args }: PlannedCall,
  { text: result, isError }: { text: string; isError: boolean },
  context: EffectContext,
): Promise<string> {
  const { hooks } = servicesOf(context);
  const about: HookAbout = { tenant, agentId, sessionKey, runId };
  if (hooks.has('after_tool_call'))
    await hooks.run('after_tool_call', { name, callId, args, result, isError }, about);
  if (!hooks.has('tool_result_persist')) return result;
  try {
    return hooks.persisted({ name, callId, result, isError }, about);
  } catch (error) {
    return `The result of ${name} is withheld: ${errorData(error).message}`;
  }
}
