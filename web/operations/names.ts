/** Short forms of addresses for people; the details show the whole address. */

/** `default/session/agent:main:main` becomes `session agent:main:main`. */
export const shortAddress = (address: string): string => {
  const [, type, ...key] = address.split('/');
  return type === undefined || key.length === 0 ? address : `${type} ${key.join('/')}`;
};
