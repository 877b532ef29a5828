/**
 * Property lists of launchd. It has no file of environment variables, so a shell reads that file
 * and becomes the program.
 */
import { join } from 'node:path';
import { MARK, type ServiceDescription } from './description.ts';

type Value = string | number | boolean | readonly string[] | { readonly [key: string]: Value };

/** `$1` is the file of variables, the rest the program with its arguments. */
const runScript = 'if [ -f "$1" ]; then set -a; . "$1"; set +a; fi; shift; exec "$@"';

/** 077 in decimal, as property lists have it. */
const PRIVATE_UMASK = 63;

/** The text of the property list; the same description always makes the same text. */
export function launchdList(service: ServiceDescription): string {
  const { command, home, environmentFile, path, stopSeconds, user } = service;
  const log = join(home, `${service.name}.log`);
  const list: { readonly [key: string]: Value } = {
    Label: launchdLabel(service.name),
    ProgramArguments: ['/bin/sh', '-c', runScript, 'troupe', environmentFile, ...command],
    WorkingDirectory: home,
    EnvironmentVariables: { PATH: path },
    ...(user === undefined ? {} : { UserName: user }),
    RunAtLoad: true,
    // as Restart=on-failure of systemd
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 2,
    ExitTimeOut: stopSeconds,
    SoftResourceLimits: { NumberOfFiles: 65_536 },
    HardResourceLimits: { NumberOfFiles: 65_536 },
    Umask: PRIVATE_UMASK,
    StandardOutPath: log,
    StandardErrorPath: log,
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    `<!-- ${MARK} -->`,
    '<plist version="1.0">',
    element(list, ''),
    '</plist>',
    '',
  ].join('\n');
}

export const launchdLabel = (name: string): string => `dev.${name}`;

function element(value: Value, indent: string): string {
  const inner = `${indent}  `;
  if (typeof value === 'string') return `${indent}<string>${escaped(value)}</string>`;
  if (typeof value === 'number') return `${indent}<integer>${value}</integer>`;
  if (typeof value === 'boolean') return `${indent}<${value}/>`;
  if (isList(value)) {
    const items = value.map((item) => element(item, inner));
    return [`${indent}<array>`, ...items, `${indent}</array>`].join('\n');
  }
  const pairs = Object.entries(value).flatMap(([key, item]) => [
    `${inner}<key>${escaped(key)}</key>`,
    element(item, inner),
  ]);
  return [`${indent}<dict>`, ...pairs, `${indent}</dict>`].join('\n');
}

const isList = (value: Value): value is readonly string[] => Array.isArray(value);

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
