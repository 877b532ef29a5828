/** `troupe nodes`: lists nodes and invokes their commands. */
import { randomUUID } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import type { NodeEntry } from '../../protocols/gateway/index.ts';
import { exitCodes } from '../exit.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { type ClientOptions, withGateway } from '../options.ts';
import { ago, table } from '../../operations/text.ts';
import { printJson } from '../output.ts';

export type InvokeOptions = ClientOptions & {
  readonly params: string;
  readonly timeout?: number;
  readonly key?: string;
};

export const list = (options: ClientOptions): Promise<number> =>
  viaGateway(options, async (client) => {
    const listed = await client.request('node.list', {});
    if (options.json) printJson(listed);
    else if (listed.nodes.length === 0)
      process.stdout.write('no nodes: `troupe node run` makes a machine a node\n');
    else {
      const head = ['node', 'name', 'platform', 'state', 'seen', 'commands'];
      process.stdout.write(
        table(
          head,
          listed.nodes.map((node) => cells(node, listed.ts)),
        ),
      );
      for (const { displayName, nodeId, pendingRequestId } of listed.nodes) {
        if (pendingRequestId === undefined) continue;
        const name = displayName ?? nodeId;
        process.stdout.write(
          `\n${name} waits for approval: troupe nodes approve ${pendingRequestId}\n`,
        );
      }
    }
  });

const cells = (node: NodeEntry, now: number): string[] => [
  node.nodeId.slice(0, 12),
  node.displayName ?? '',
  node.platform ?? '',
  `${node.connected ? 'connected' : 'disconnected'}, ${node.approvalState}`,
  node.lastSeenAtMs === undefined ? '' : `${ago(Math.max(0, now - node.lastSeenAtMs))} ago`,
  node.commands.join(', '),
];

export const describe = (node: string, options: ClientOptions): Promise<number> =>
  viaGateway(options, async (client) => {
    const { nodeId } = await nodeBy(client, node);
    printJson(await client.request('node.describe', { nodeId }));
  });

export const invoke = (node: string, command: string, options: InvokeOptions): Promise<number> =>
  viaGateway(options, async (client) => {
    const params = parsed(options.params);
    const { nodeId } = await nodeBy(client, node);
    const timeoutMs = (options.timeout ?? 30) * 1_000;
    const answer = await client.request(
      'node.invoke',
      { nodeId, command, params, timeoutMs, idempotencyKey: options.key ?? randomUUID() },
      { timeoutMs: timeoutMs + 10_000 },
    );
    printJson(options.json ? answer : (answer.payload ?? null));
  });

export const decide = (
  word: 'approve' | 'reject',
  requestId: string,
  options: ClientOptions,
): Promise<number> =>
  viaGateway(options, async (client) => {
    const answer = await client.request(`node.pair.${word}`, { requestId });
    if (options.json) printJson(answer);
    else process.stdout.write(`${word === 'approve' ? 'approved' : 'rejected'}\n`);
  });

export const rename = (node: string, name: string, options: ClientOptions): Promise<number> =>
  viaGateway(options, async (client) => {
    const { nodeId } = await nodeBy(client, node);
    const answer = await client.request('node.rename', { nodeId, displayName: name });
    if (options.json) printJson(answer);
    else process.stdout.write(`${nodeId.slice(0, 12)} is now named ${name}\n`);
  });

export const remove = (node: string, options: ClientOptions): Promise<number> =>
  viaGateway(options, async (client) => {
    const { nodeId } = await nodeBy(client, node);
    const answer = await client.request('node.pair.remove', { nodeId });
    if (options.json) printJson(answer);
    else process.stdout.write(`${nodeId.slice(0, 12)} is removed\n`);
  });

const viaGateway = async (
  options: ClientOptions,
  work: (client: GatewayClient) => Promise<void>,
): Promise<number> => {
  await withGateway(options, work);
  return exitCodes.ok;
};

/** @throws TroupeError NOT_FOUND, or CONFLICT when several match */
const nodeBy = async (client: GatewayClient, given: string): Promise<NodeEntry> => {
  const { nodes } = await client.request('node.list', {});
  const fits = nodes.filter(
    ({ nodeId, displayName }) => displayName === given || nodeId.startsWith(given),
  );
  if (fits.length === 1) return fits[0]!;
  if (fits.length === 0)
    throw new TroupeError('NOT_FOUND', `no node matches ${given}: see troupe nodes`);
  throw new TroupeError('CONFLICT', `${fits.length} nodes match ${given}: use the id`);
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', `--params is not JSON: ${text.slice(0, 80)}`, {
      cause,
    });
  }
};
