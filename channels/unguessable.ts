/**
 * Whether a secret is too long and varied to be guessed, at whatever speed: 32 characters or more,
 * 12 different ones or more, as random secrets in hex or base64 have. Generated tokens are.
 */
export const isUnguessable = (secret: string): boolean =>
  secret.length >= 32 && new Set(secret).size >= 12;
