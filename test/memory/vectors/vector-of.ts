/** A random vector, with normally distributed components, as those of embeddings nearly are. */
export function vectorOf(next: () => number, dimensions: number): Float32Array {
  const component = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return Float32Array.from({ length: dimensions }, component);
}
