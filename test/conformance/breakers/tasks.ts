/** Endpoints that break the rules about tasks, cancellation, files and evidence. */
import { setTimeout as sleep } from 'node:timers/promises';
import { SHIPPED_PROFILE } from '../../../conformance/profile.ts';
import { isFinal } from '../../../protocols/task.ts';
import { type Answered, type Asked, type Fault, objectIn, type Pass } from './broken-server.ts';
import {
  answers,
  breakersOf,
  codeIn,
  ends,
  type Own,
  payloads,
  recoded,
  refusals,
  refuse,
  say,
  viewIn,
  views,
  withHeader,
} from './faults.ts';

const { actions } = SHIPPED_PROFILE;
const LOOK_MS = 100;
/** Longer than the suite waits for a cancelled task. */
const LATE_MS = 11_000;
const HELD_MS = 10_000;

const look = (asked: Asked, pass: Pass, taskId: string): Promise<Answered> => {
  const { authorization = '' } = asked.headers;
  const [body, path] = [Buffer.alloc(0), `/v1/tasks/${taskId}`];
  return pass({ method: 'GET', path, headers: { authorization }, body });
};
const viewOf = ({ body }: Answered) => viewIn(objectIn(body) ?? {});

/** The id of the task that an envelope cancels. */
const cancelled = ({ envelope }: Asked): string | undefined =>
  envelope?.action?.endsWith('.cancel') ? String(envelope.payload['task_id']) : undefined;

const holdingAnswers = (): Fault => async (asked, pass) => {
  let answer = await pass(asked);
  if (asked.envelope === undefined || asked.headers['prefer']) return answer;
  for (const deadline = Date.now() + HELD_MS; Date.now() < deadline; await sleep(LOOK_MS)) {
    const view = viewOf(answer);
    if (!view || view.waiting || isFinal(view.state)) break;
    answer = { ...(await look(asked, pass, view.task_id)), headers: answer.headers };
  }
  return answer;
};

export const taskBreakers = breakersOf({
  'tasks.sync': [
    'acknowledges work that has already ended',
    () => async (asked, pass) => {
      const answer = await pass(asked);
      const view = asked.envelope && viewOf(answer);
      if (!view || !isFinal(view.state)) return answer;
      const { result: _, finished_at: __, ...others } = view;
      return say(202, { ...others, state: 'ACKED' }, answer.headers);
    },
  ],
  'tasks.async': ['holds its answer until the task has ended', holdingAnswers],
  'tasks.ack': [
    'ignores requests for an early acknowledgement',
    () => (asked, pass) => {
      const isProcess = asked.envelope?.action === actions.endToEnd;
      return pass(isProcess ? asked : withHeader(asked, 'prefer'));
    },
  ],
  'tasks.events': [
    'omits the event that a task is running',
    () =>
      ends((view) => ({
        ...view,
        events: view.events.filter(({ event }) => !event.endsWith('.running')),
      })),
  ],
  'tasks.stream': [
    'repeats every event when a stream resumes',
    () => (asked, pass) => pass(withHeader(asked, 'last-event-id')),
  ],
  'tasks.final': [
    'cancels ended tasks',
    () => {
      const ids = new Set<string>();
      return async (asked, pass) => {
        const id = cancelled(asked);
        const answer = await pass(asked);
        if (id !== undefined && codeIn(answer) === 'CONFLICT') ids.add(id);
        const view = asked.method === 'GET' ? viewOf(answer) : undefined;
        const isChanged = view && ids.has(view.task_id);
        return isChanged ? say(200, { ...view, state: 'CANCELLED' }) : answer;
      };
    },
  ],
  'tasks.input': [
    'loses the input',
    () =>
      payloads((payload) => ('input' in payload ? { ...payload, input: { name: '?' } } : payload)),
  ],
});

export const cancelBreakers = breakersOf({
  'cancel.running': [
    'omits how a cancelled task ended',
    () =>
      ends((view) =>
        ['COMPENSATED', 'CANCELLED'].includes(view.state)
          ? { ...view, events: view.events.slice(0, -1) }
          : undefined,
      ),
  ],
  'cancel.undone': [
    'reports COMPENSATED without a compensation',
    () =>
      ends((view) =>
        view.action === actions.undone ? { ...view, result: { undone: false } } : undefined,
      ),
  ],
  'cancel.twice': [
    'refuses a repeated cancellation',
    () => {
      const ids = new Set<string>();
      return async (asked, pass) => {
        const id = cancelled(asked);
        if (id !== undefined && ids.has(id)) return refuse('CONFLICT');
        if (id !== undefined) ids.add(id);
        return pass(asked);
      };
    },
  ],
  'cancel.finished': [
    'reports ended tasks as cancelled',
    () => async (asked, pass) => {
      const id = cancelled(asked);
      const answer = await pass(asked);
      return id !== undefined && codeIn(answer) === 'CONFLICT' ? look(asked, pass, id) : answer;
    },
  ],
  'cancel.stops': [
    'lets cancelled work continue',
    () => {
      const until = new Map<string, number>();
      return views((view, asked) => {
        if (cancelled(asked) && !until.has(view.task_id))
          until.set(view.task_id, Date.now() + LATE_MS);
        const isLate = Date.now() < (until.get(view.task_id) ?? 0);
        return isLate ? { ...view, state: 'RUNNING' } : undefined;
      });
    },
  ],
  'cancel.unknown': [
    'reports an unknown task in a cancellation as INVALID_ARGUMENT',
    () => recoded('NOT_FOUND', 'INVALID_ARGUMENT', ({ action }) => action.endsWith('.cancel')),
  ],
});

const EXP = /exp=(\d{10})/g;
const later = (text: string, seconds: number): string =>
  text.replace(EXP, (_, exp: string) => `exp=${Number(exp) + seconds}`);

/** URLs whose stated expiry is an hour too late. */
const longLived = (): Fault => async (asked, pass) => {
  const answer = await pass({
    ...asked,
    path: later(asked.path, -3_600),
    body: asked.envelope ? Buffer.from(later(asked.body.toString(), -3_600)) : asked.body,
  });
  const isFile = asked.path.startsWith('/v1/artifacts/');
  return isFile ? answer : { ...answer, body: Buffer.from(later(answer.body.toString(), 3_600)) };
};

const correctHash = payloads((payload) => {
  const [, hash] = /\/([0-9a-f]{64})\?/.exec(String(payload['artifact_uri'])) ?? [];
  return hash === undefined ? payload : { ...payload, artifact_hash: hash };
});

export const largeBreakers = breakersOf({
  'large.refused': [
    'does not explain what to do with a large payload',
    () =>
      refusals(({ error, ...ids }) =>
        error.code === 'PAYLOAD_TOO_LARGE'
          ? { ...ids, error: { ...error, message: 'too large' } }
          : { ...ids, error },
      ),
  ],
  'large.by-reference': [
    'reads the first 64 KiB of a file',
    () =>
      ends((view) => {
        const { bytes, ...others } = (view.result ?? {}) as { bytes?: number };
        if (bytes === undefined) return undefined;
        return { ...view, result: { ...others, bytes: Math.min(bytes, 65_536) } };
      }),
  ],
  'large.signed-url': [
    'lists the files of a tenant',
    () => async (asked, pass) =>
      /^\/v1\/artifacts\/[\w-]+\/$/.test(asked.path) ? say(200, { files: [] }) : pass(asked),
  ],
  'large.lifetime': ['signs URLs for more than an hour', longLived],
  'large.foreign-bucket': [
    'treats a file of another host as empty',
    ({ origin }: Own) =>
      payloads((payload) => {
        const { artifact_uri: uri, schema_version, subject } = payload;
        const isForeign = typeof uri === 'string' && !uri.startsWith(origin);
        return isForeign ? { schema_version, subject, text: '' } : payload;
      }),
  ],
  'large.wrong-hash': ['does not compare a file with its artifact_hash', () => correctHash],
  'large.upload-checked': [
    'stores files without checking their hash',
    () => (asked, pass) => pass(withHeader(asked, 'x-artifact-sha256')),
  ],
});

export const evidenceBreakers = breakersOf({
  'evidence.record': [
    'lists evidence with a wrong hash',
    () =>
      answers((body, { path }) => {
        if (!path.startsWith('/evidence/') || !('records' in body)) return undefined;
        const artifact_hash = '0'.repeat(64);
        const records = body.records as readonly object[];
        return { ...body, records: records.map((record) => ({ ...record, artifact_hash })) };
      }),
  ],
  'evidence.unknown': [
    'returns an empty list for an unknown job',
    () => async (asked, pass) => {
      const answer = await pass(asked);
      const isUnknown = asked.path.startsWith('/evidence/') && answer.status === 404;
      return isUnknown ? say(200, { records: [] }) : answer;
    },
  ],
});
