/** The row of `meta` that names the last frame that a checkpoint contains. */
export const CHECKPOINT: Uint8Array = Buffer.from('checkpoint');

/** 0 before the first checkpoint */
export const decodeCheckpoint = (bytes: Uint8Array | undefined): number =>
  bytes === undefined ? 0 : Buffer.from(bytes).readUIntBE(0, 6);

export const encodeCheckpoint = (frame: number): Buffer => {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(frame, 0, 6);
  return bytes;
};
