/**
 * Processor time (user and system) of commands of the built program that need no gateway, beside
 * bare Node: each command writes its own time when it exits. The least of several runs counts,
 * because other processes can only add to it.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineScenario } from './harness/scenario.ts';

const launcher = fileURLToPath(new URL('../../bin/troupe.js', import.meta.url));
const REPORT = `data:text/javascript,process.on('exit',()=>{const{user,system}=process.cpuUsage();process.stderr.write('\\ncpu '+(user+system)/1000)})`;

export const commands = defineScenario({
  name: 'commands',
  question: 'how much processor time does a command of the program need?',
  needsProgram: true,
  secondsMax: 120,
  figures: {
    helpMs: { label: 'troupe --help', unit: 'ms', limit: 'bareMs' },
    configCheckMs: { label: 'config check', unit: 'ms', limit: 'bareMs' },
    hooksMs: { label: 'hooks list', unit: 'ms', limit: 'bareMs' },
    mcpMs: { label: 'mcp list', unit: 'ms', limit: 'bareMs' },
    memoryMs: { label: 'memory status', unit: 'ms', limit: 'bareMs' },
    doctorMs: { label: 'doctor', unit: 'ms', limit: 'bareMs' },
    sessionsMs: { label: 'sessions, which finds no gateway', unit: 'ms', limit: 'bareMs' },
    bareMs: { label: '  limit: bare Node', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const runs = pick(10, 3, 1);
    const least = (...args: readonly string[]): number =>
      Math.min(...Array.from({ length: runs }, () => processorMs(folder, args)));
    return {
      helpMs: least(launcher, '--help'),
      configCheckMs: least(launcher, 'config', 'check'),
      hooksMs: least(launcher, 'hooks', 'list'),
      mcpMs: least(launcher, 'mcp', 'list'),
      memoryMs: least(launcher, 'memory', 'status'),
      doctorMs: least(launcher, 'doctor'),
      sessionsMs: least(launcher, 'sessions'),
      bareMs: least('-e', '0'),
    };
  },
});

function processorMs(folder: string, args: readonly string[]): number {
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    XDG_CACHE_HOME: join(folder, 'cache'),
    TROUPE_PORT: '1',
  };
  const { stderr } = spawnSync(process.execPath, ['--import', REPORT, ...args], {
    env,
    encoding: 'utf8',
  });
  const [, ms] = /\ncpu ([\d.]+)$/.exec(stderr) ?? [];
  if (ms === undefined) throw new Error(`troupe ${args.join(' ')} did not end: ${stderr}`);
  return Number(ms);
}
