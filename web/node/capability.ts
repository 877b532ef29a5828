/** The parts of a capability of this device. */
export type Permission = 'granted' | 'denied' | 'undetermined';

export type CapabilityName = 'canvas' | 'camera' | 'screen' | 'location' | 'notifications';

/** What a command may use while it runs. */
export type Doing = {
  readonly signal: AbortSignal;
  /** Asks the user of this device; rejects with CommandError FORBIDDEN when they refuse. */
  ask(): Promise<void>;
  show(canvas: Canvas): void;
};

/** What an agent shows. */
export type Canvas = {
  readonly kind: 'html' | 'text' | 'image';
  readonly content: string;
  readonly title?: string;
};

export type Capability = {
  readonly name: CapabilityName;
  readonly command: string;
  readonly description: string;
  /** JSON Schema of the parameters */
  readonly params: Readonly<Record<string, unknown>>;
  readonly supported: () => boolean;
  /** the browser's present permission; undetermined if the browser does not report it */
  readonly permission: () => Promise<Permission>;
  /** Makes the browser ask its user, after a click; missing if no permission is needed. */
  readonly request?: () => Promise<void>;
  /** @throws CommandError, or an error of the browser */
  readonly run: (params: never, doing: Doing) => Promise<object>;
};

/** `code` is one of the gateway's error codes. */
export class CommandError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The state of one of the browser's permissions; some browsers do not support all names. */
export const browserPermission = async (name: string): Promise<Permission> => {
  try {
    const { state } = await navigator.permissions.query({ name: name as PermissionName });
    return state === 'prompt' ? 'undetermined' : state;
  } catch {
    return 'undetermined';
  }
};

/** Maps an error of the browser to an error code of the gateway. */
export const failureOf = (thrown: unknown): { code: string; message: string } => {
  if (thrown instanceof CommandError) return { code: thrown.code, message: thrown.message };
  const { name, message } = thrown as Error;
  const said = `${name}: ${message}`;
  if (name === 'NotAllowedError' || name === 'SecurityError')
    return { code: 'FORBIDDEN', message: `the browser did not permit it (${said})` };
  if (name === 'AbortError' || name === 'TimeoutError')
    return { code: 'DEADLINE_EXCEEDED', message: `it took too long (${said})` };
  return { code: 'UNAVAILABLE', message: `the browser could not do it (${said})` };
};

export const base64Of = async (blob: Blob): Promise<string> => {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result as string));
    reader.addEventListener('error', () => reject(reader.error ?? new Error('not read')));
    reader.readAsDataURL(blob);
  });
  return url.slice(url.indexOf(',') + 1);
};

export const stopAll = (stream: MediaStream): void => {
  for (const track of stream.getTracks()) track.stop();
};
