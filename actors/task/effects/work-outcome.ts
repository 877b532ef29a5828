/**
 * Outcome: checks a result of work against the action's declaration, and stores it as a file when
 * it is too large for a view. The same for every performer.
 */
import { checker, describeErrors } from '../../../protocols/check.ts';
import { ENVELOPE_RESOURCE_LINKS_MAX, EnvelopeSchema } from '../../../protocols/envelope.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { EvidenceSchema, TASK_RESULT_BYTES_MAX } from '../../../protocols/task.ts';
import { type ActionDefinition, isInputRequired, isLinked } from '../action.ts';
import { checkerOf } from '../checkers.ts';
import type { TaskServices } from '../services.ts';
import type { CheckInput, Outcome } from '../types.ts';
import { mutedText } from './muted.ts';

const checkEvidence = checker(EvidenceSchema);
const checkLinks = checker(EnvelopeSchema.properties.resource_links);

/** A failure that a retry would not resolve, because the work itself was done. */
export const failed = (error: TroupeError, returned?: { readonly value: unknown }): Outcome => ({
  kind: 'failed',
  error: error.toData(),
  final: true,
  ...(returned ? { returned } : {}),
});

type Returned = Pick<CheckInput, 'envelope' | 'terms'> & { readonly value: unknown };

/** The outcome for a value that the work returned. Does not throw. */
export async function outcomeOf(
  { envelope, terms, value }: Returned,
  definition: ActionDefinition | undefined,
  { artifacts, seal }: Pick<TaskServices, 'artifacts' | 'seal'>,
): Promise<Outcome> {
  if (terms.sensitive) return sealedOutcomeOf({ envelope, terms, value }, definition, seal);
  if (isInputRequired(value)) {
    const { for: what, prompt, schema } = value;
    return { kind: 'input', for: what, prompt, ...(schema ? { schema } : {}) };
  }
  const linked = isLinked(value) ? value : undefined;
  const text = jsonOf(linked ? linked.result : value);
  if (text instanceof TroupeError) return failed(text);
  const result: unknown = JSON.parse(text);
  const unfit = unfitFor(result, definition, terms.evidence);
  if (unfit) {
    const message = `the result of ${envelope.action} is not what it declares: ${unfit}`;
    return failed(new TroupeError('INTERNAL', message), smallEnough(text, result));
  }
  const links = linked?.resource_links.slice(0, ENVELOPE_RESOURCE_LINKS_MAX);
  const fitting = links && checkLinks(links);
  if (fitting?.ok === false) {
    const message = `resource_links of ${envelope.action}: ${describeErrors(fitting.errors)}`;
    return failed(new TroupeError('INTERNAL', message), smallEnough(text, result));
  }
  const kept = await keep({ result, text, tenant: envelope.tenant_id }, artifacts);
  if (kept instanceof TroupeError) return failed(kept);
  const seen = terms.evidence ? checkEvidence(result) : undefined;
  return {
    kind: 'done',
    result: kept,
    ...(links ? { resourceLinks: links.map(linkOf) } : {}),
    ...(seen?.ok ? { evidence: seen.value } : {}),
  };
}

/**
 * Of sensitive work: sealed with its links, too small for a file, and with no word of what
 * is wrong with it. A word of its caller would not be sealed: it cannot ask for one.
 */
async function sealedOutcomeOf(
  { envelope, terms, value }: Returned,
  definition: ActionDefinition | undefined,
  seal: TaskServices['seal'],
): Promise<Outcome> {
  const linked = isLinked(value) ? value : undefined;
  const text = jsonOf(linked ? linked.result : value);
  const links = linked?.resource_links.slice(0, ENVELOPE_RESOURCE_LINKS_MAX).map(linkOf);
  const isValid =
    !isInputRequired(value) &&
    typeof text === 'string' &&
    unfitFor(JSON.parse(text), definition, terms.evidence) === undefined &&
    (links === undefined || checkLinks(links).ok);
  if (!isValid) return failed(new TroupeError('INTERNAL', mutedText(envelope.action)));
  const sealed = await seal(
    { result: JSON.parse(text), ...(links ? { resource_links: links } : {}) },
    envelope,
  );
  if (Buffer.byteLength(sealed.jwe) <= TASK_RESULT_BYTES_MAX)
    return { kind: 'done', result: sealed };
  const message = `the sealed result of ${envelope.action} has more than ${TASK_RESULT_BYTES_MAX} bytes, and sensitive ones are kept in no file`;
  return failed(new TroupeError('PAYLOAD_TOO_LARGE', message));
}

/** The result for a compensation, which may use it. */
const smallEnough = (text: string, value: unknown) =>
  Buffer.byteLength(text) <= TASK_RESULT_BYTES_MAX ? { value } : undefined;

const linkOf = ({ uri, name }: { readonly uri: string; readonly name?: string }) =>
  name === undefined ? { uri } : { uri, name };

/** As it travels; no result is null. */
function jsonOf(result: unknown): string | TroupeError {
  try {
    return JSON.stringify(result) ?? 'null';
  } catch (cause) {
    return new TroupeError('INTERNAL', `the result is not JSON: ${errorData(cause).message}`);
  }
}

function unfitFor(
  result: unknown,
  definition: ActionDefinition | undefined,
  isEvidence: boolean,
): string | undefined {
  const answers = [
    ...(definition?.result ? [checkerOf(definition.result)(result)] : []),
    ...(isEvidence ? [checkEvidence(result)] : []),
  ];
  for (const answer of answers) if (!answer.ok) return describeErrors(answer.errors);
  return undefined;
}

/** A small result as it is; a large one as a reference to its file. */
async function keep(
  { result, text, tenant }: { result: unknown; text: string; tenant: string },
  artifacts: TaskServices['artifacts'],
): Promise<unknown> {
  const bytes = Buffer.byteLength(text);
  if (bytes <= TASK_RESULT_BYTES_MAX) return result;
  try {
    const contentType = 'application/json';
    const { hash } = await artifacts.put(tenant, Buffer.from(text), { contentType });
    return await artifacts.sign(tenant, hash);
  } catch (cause) {
    const why = errorData(cause).message;
    const message = `the result has ${bytes} bytes, ${TASK_RESULT_BYTES_MAX} are allowed, and it could not be kept as a file: ${why}`;
    return new TroupeError('PAYLOAD_TOO_LARGE', message, { cause });
  }
}
