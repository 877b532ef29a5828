/** Rules of the section `session`. */
import { childPointer } from '../pointer.ts';
import type { Config } from '../schema/schema.ts';
import type { Finding } from './check.ts';

/** A sender that belongs to two people: the order in the file would decide. */
export function linksAreApart({ session }: Config): Finding[] {
  const owners = new Map<string, string>();
  return Object.entries(session.identityLinks).flatMap(([name, peers]) =>
    peers.flatMap((peer, index): Finding[] => {
      const other = owners.get(peer) ?? name;
      owners.set(peer, other);
      if (other === name) return [];
      const pointer = childPointer(childPointer('/session/identityLinks', name), index);
      const message = `session.identityLinks.${other} has this sender, too: give it to one of them`;
      return [{ pointer, value: JSON.stringify(peer), message }];
    }),
  );
}

/** A zone that the time of a reset could not be read in. */
export function resetZoneExists({ session: { reset } }: Config): Finding[] {
  if (reset === undefined || isTimeZone(reset.timeZone)) return [];
  const value = JSON.stringify(reset.timeZone);
  const message = 'this machine knows no time zone of this name';
  return [
    {
      pointer: '/session/reset/timeZone',
      value,
      message,
      allowed: 'an IANA name, as Europe/Berlin',
    },
  ];
}

function isTimeZone(timeZone: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone }).format(0) !== '';
  } catch {
    return false;
  }
}
