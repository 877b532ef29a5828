/**
 * Changes messages of a server before the SDK reads them.
 *  - The SDK refuses a whole list because of one tool: such tools are removed, and reported.
 *  - It does not support tasks: the created task becomes a result whose `_meta` contains it.
 */
import type { Transport } from '@modelcontextprotocol/client';
import { isObject } from '../../protocols/is-object.ts';

/** In `_meta` of a result: the task that the server created instead of a result. */
export const CREATED_TASK = 'troupe/created-task';

/** Of a tool that was removed from a list. */
export type OnRemovedTool = (name: string, why: string) => void;

/** Changes all later messages of the transport. */
export function readInbound<T extends Transport>(transport: T, onRemoved: OnRemovedTool): T {
  let receive: Transport['onmessage'];
  Object.defineProperty(transport, 'onmessage', {
    get: (): Transport['onmessage'] =>
      receive && ((message, extra) => receive?.(changed(message, onRemoved), extra)),
    set(next: Transport['onmessage']) {
      receive = next;
    },
  });
  return transport;
}

/** The same message where nothing is to be changed; repeatable. */
function changed<T>(message: T, onRemoved: OnRemovedTool): T {
  const { result } = message as { readonly result?: unknown };
  if (!isObject(result)) return message;
  if (result['resultType'] === 'task') {
    const { _meta: meta, ...task } = result;
    const created = { ...(isObject(meta) ? meta : {}), [CREATED_TASK]: task };
    // An error, because the SDK requires structured content of other results.
    const changedResult = { resultType: 'complete', content: [], isError: true, _meta: created };
    return { ...message, result: changedResult };
  }
  const { tools } = result;
  if (!Array.isArray(tools)) return message;
  const kept = tools.filter((tool: unknown) => {
    const why = faultOf(tool);
    if (why !== undefined) onRemoved(nameOf(tool), why);
    return why === undefined;
  });
  return kept.length === tools.length
    ? message
    : { ...message, result: { ...result, tools: kept } };
}

function faultOf(tool: unknown): string | undefined {
  if (!isObject(tool) || typeof tool['name'] !== 'string') return 'it has no name';
  const { inputSchema, outputSchema, description = '', annotations = {} } = tool;
  if (!isObject(inputSchema) || inputSchema['type'] !== 'object')
    return 'its inputSchema is not the schema of an object';
  if (!hasValidFields(inputSchema)) return 'its inputSchema is no schema';
  if (outputSchema !== undefined && !(isObject(outputSchema) && hasValidFields(outputSchema)))
    return 'its outputSchema is no schema';
  if (typeof description !== 'string') return 'its description is no text';
  return isObject(annotations) ? undefined : 'its annotations are no object';
}

/** The fields of schemas that the SDK checks. */
const hasValidFields = ({ properties = {}, required = [] }: Readonly<Record<string, unknown>>) =>
  isObject(properties) &&
  Object.values(properties).every((one) => isObject(one) || typeof one === 'boolean') &&
  Array.isArray(required) &&
  required.every((name) => typeof name === 'string');

const nameOf = (tool: unknown): string =>
  isObject(tool) && typeof tool['name'] === 'string' ? tool['name'] : '(no name)';
