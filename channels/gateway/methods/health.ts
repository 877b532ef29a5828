/**
 * The process and its clients: `health`, `status`, `system.info`, `channels.status`, `logs.tail`,
 * `system-presence`.
 */
import * as os from 'node:os';
import { statfs } from 'node:fs/promises';
import type {
  ChannelsStatusResult,
  LogsTailParams,
  SystemInfoResult,
} from '../../../protocols/gateway/index.ts';
import { type MethodTable, published } from './method.ts';
import { ANSWERED, type Request, respondEncoded } from './request.ts';
import { installationOf } from './setup.ts';
import { usageTable } from './sessions/usage.ts';

const health = async (request: Request) => {
  respondEncoded(request, await request.door.health.health());
  return ANSWERED;
};

const status = async (request: Request) => {
  respondEncoded(request, await request.door.health.status());
  return ANSWERED;
};

const systemPresence = ({ door }: Request) => door.presence.entries();

const systemInfo = async ({ door }: Request): Promise<SystemInfoResult> => {
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
    processInstanceId: door.bootId,
    uptimeMs: Math.round(process.uptime() * 1_000),
    cpuCount: cpus.length,
    ...(cpus[0] === undefined ? {} : { cpuModel: cpus[0].model }),
    loadAverage: os.loadavg(),
    memoryTotalBytes: os.totalmem(),
    memoryFreeBytes: os.freemem(),
    ...(await diskOf(door.setup?.folder)),
  };
};

/** Nothing where the file system does not tell. */
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

/** Troupe has no messengers yet. */
const channelsStatus = ({ door }: Request): ChannelsStatusResult => ({
  ts: door.clock.wallMs(),
  channelOrder: [],
  channelLabels: {},
  channels: {},
  channelAccounts: {},
  channelDefaultAccountId: {},
});

const logsTail = (request: Request, params: LogsTailParams) =>
  installationOf(request).logs.tail(params);

export const systemTable: MethodTable = [
  published('health', health),
  published('status', status),
  published('system-presence', systemPresence),
  published('system.info', systemInfo),
  published('channels.status', channelsStatus),
  published('logs.tail', logsTail),
  ...usageTable,
];
