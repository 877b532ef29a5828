/**
 * Encodes text messages as WebSocket frames: one final, unmasked frame each (RFC 6455, section
 * 5.2). The frames bypass the `ws` sender: an event is encoded once for many clients, and all of it
 * except the number is one shared Buffer.
 */
const FINAL_TEXT = 0x81;
/** Payload lengths from which the header is two, and eight, bytes longer. */
const TWO_BYTES_FROM = 126;
const EIGHT_BYTES_FROM = 65_536;
/** An event up to this length is copied after its number: one write is cheaper than two. */
const COPIED_BYTES_MAX = 4_096;

const headerBytes = (length: number): number => {
  if (length < TWO_BYTES_FROM) return 2;
  return length < EIGHT_BYTES_FROM ? 4 : 10;
};

/** @returns the offset of the payload */
const writeHeader = (into: Buffer, length: number): number => {
  into[0] = FINAL_TEXT;
  if (length < TWO_BYTES_FROM) {
    into[1] = length;
    return 2;
  }
  if (length < EIGHT_BYTES_FROM) {
    into[1] = TWO_BYTES_FROM;
    into.writeUInt16BE(length, 2);
    return 4;
  }
  into[1] = 127;
  into.writeUInt32BE(Math.floor(length / 2 ** 32), 2);
  into.writeUInt32BE(length % 2 ** 32, 6);
  return 10;
};

export const textFrame = (text: string): Buffer => {
  const length = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(headerBytes(length) + length);
  frame.write(text, writeHeader(frame, length));
  return frame;
};

/**
 * The frame of an event: `{"seq":N,` followed by the shared `rest`. Returns one Buffer, or two to
 * write in sequence.
 */
export const eventFrame = (seq: number, rest: Buffer): readonly [Buffer, Buffer?] => {
  const number = `{"seq":${seq},`;
  const length = number.length + rest.length;
  const isCopied = rest.length <= COPIED_BYTES_MAX;
  const header = headerBytes(length);
  const frame = Buffer.allocUnsafe(header + (isCopied ? length : number.length));
  writeHeader(frame, length);
  frame.write(number, header, 'latin1');
  if (!isCopied) return [frame, rest];
  rest.copy(frame, header + number.length);
  return [frame];
};
