/**
 * Methods about the process and its clients: `health`, `status`, `system.info`, `channels.status`,
 * `logs.tail`, `system-presence`.
 */
import type { HealthReport } from '../tenant/health-report.ts';
import type { Presence } from '../tenant/presence.ts';
import * as os from 'node:os';
import { statfs } from 'node:fs/promises';
import type {
  ChannelsStatusResult,
  LogsTailParams,
  SystemInfoResult,
} from '../../../protocols/gateway/index.ts';
import { type MethodTable, published } from './method.ts';
import { ANSWERED, type Request, respondEncoded } from './request.ts';
import { installationOf, type SetupContext } from './setup.ts';
import { type UsageContext, usageTable } from './sessions/usage.ts';

/** What methods about the process and its clients need. */
export type ProcessContext = UsageContext &
  SetupContext & {
    readonly health: HealthReport;
    readonly presence: Presence;
    readonly bootId: string;
  };

const health = async (request: Request<ProcessContext>) => {
  respondEncoded(request, await request.context.health.health());
  return ANSWERED;
};

const status = async (request: Request<ProcessContext>) => {
  respondEncoded(request, await request.context.health.status());
  return ANSWERED;
};

const systemPresence = ({ context }: Request<ProcessContext>) => context.presence.entries();

const systemInfo = async ({ context }: Request<ProcessContext>): Promise<SystemInfoResult> => {
  const cpus = os.cpus();
  const hostname = os.hostname();
  return {
    machineName: hostname,
    hostname,
    platform: process.platform,
    release: os.release(),
    arch: process.arch,
    osLabel: `${os.type()} ${os.release()}`,
    nodeVersion: process.version,
    pid: process.pid,
    processInstanceId: context.bootId,
    uptimeMs: Math.round(process.uptime() * 1_000),
    cpuCount: cpus.length,
    ...(cpus[0] === undefined ? {} : { cpuModel: cpus[0].model }),
    loadAverage: os.loadavg(),
    memoryTotalBytes: os.totalmem(),
    memoryFreeBytes: os.freemem(),
    ...(await diskOf(context.setup?.folder)),
  };
};

/** Returns no fields when the file system reports no sizes. */
const diskOf = async (folder: string | undefined) => {
  if (folder === undefined) return {};
  try {
    const { blocks, bavail, bsize } = await statfs(folder);
    return {
      diskTotalBytes: blocks * bsize,
      diskAvailableBytes: bavail * bsize,
      diskPath: folder,
    };
  } catch {
    return {};
  }
};

/** Always empty: messenger channels are not part of this answer. */
const channelsStatus = ({ context }: Request<ProcessContext>): ChannelsStatusResult => ({
  ts: context.clock.wallMs(),
  channelOrder: [],
  channelLabels: {},
  channels: {},
  channelAccounts: {},
  channelDefaultAccountId: {},
});

const logsTail = (request: Request<ProcessContext>, params: LogsTailParams) =>
  installationOf(request).logs.tail(params);

export const systemTable: MethodTable<ProcessContext> = [
  published('health', health),
  published('status', status),
  published('system-presence', systemPresence),
  published('system.info', systemInfo),
  published('channels.status', channelsStatus),
  published('logs.tail', logsTail),
  ...usageTable,
];
