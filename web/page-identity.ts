/** As what the chat page connects: a person's client, with all that its secret allows. */
const CLIENT = {
  id: 'webchat-ui',
  displayName: 'troupe page',
  version: '1.0.0',
  platform: 'web',
  mode: 'webchat',
};

const SCOPES = [
  'operator.read',
  'operator.write',
  'operator.approvals',
  'operator.pairing',
  'operator.admin',
];

export const introducePage = (): object => ({
  client: CLIENT,
  role: 'operator',
  scopes: SCOPES,
  caps: ['tool-events'],
});
