/**
 * JIDs, the addresses of WhatsApp, and the ids that troupe uses for them.
 *
 * The id of a person is the phone number in digits where it is known. WhatsApp hides some numbers
 * behind a LID; the id is then `DIGITS@lid`. The id of a group is its JID, `DIGITS@g.us`.
 */
const PHONE = 's.whatsapp.net';
/** the user of WhatsApp's own announcements */
const ANNOUNCEMENTS = '0';

const partsOf = (jid: string): readonly [user: string, server: string] => {
  const [user = '', server = ''] = jid.split('@');
  // `user_agent:device@server`: a device is of no interest here
  return [user.split(/[:_]/)[0] ?? '', server === 'c.us' ? PHONE : server];
};

/** Without the device. */
export const plainJid = (jid: string): string => partsOf(jid).join('@');

export const idOf = (jid: string): string => {
  const [user, server] = partsOf(jid);
  return server === PHONE ? user : `${user}@${server}`;
};

export const jidOf = (id: string): string => (id.includes('@') ? id : `${id}@${PHONE}`);

export const isGroup = (jid: string): boolean => jid.endsWith('@g.us');
export const isLid = (jid: string): boolean => jid.endsWith('@lid');
/** A person. Everything else is a group, a channel, a status or a bot of WhatsApp. */
export const isPerson = (jid: string): boolean => {
  const [user, server] = partsOf(jid);
  return isLid(jid) || (server === PHONE && user !== ANNOUNCEMENTS);
};
