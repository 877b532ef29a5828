/**
 * A vector of OpenAI's API as numbers; some servers answer base64 although numbers were asked for.
 */
export function numbersOf(embedding: readonly number[] | string): ArrayLike<number> {
  if (typeof embedding !== 'string') return embedding;
  const bytes = Uint8Array.from(Buffer.from(embedding, 'base64'));
  return new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4));
}
