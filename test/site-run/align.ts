/** What is left of two sequences when their longest common subsequence by `key` is taken out. */
export function aligned<A extends { readonly key: string }, B extends { readonly key: string }>(
  wanted: readonly A[],
  came: readonly B[],
): { readonly missing: readonly A[]; readonly extra: readonly B[] } {
  const width = came.length + 1;
  const longest = new Uint32Array((wanted.length + 1) * width);
  const at = (a: number, b: number): number => longest[a * width + b] ?? 0;
  for (let a = wanted.length - 1; a >= 0; a -= 1)
    for (let b = came.length - 1; b >= 0; b -= 1)
      longest[a * width + b] =
        wanted[a]?.key === came[b]?.key ? at(a + 1, b + 1) + 1 : Math.max(at(a + 1, b), at(a, b + 1));
  const missing: A[] = [];
  const extra: B[] = [];
  let [a, b] = [0, 0];
  while (a < wanted.length || b < came.length) {
    const [want, come] = [wanted[a], came[b]];
    if (want !== undefined && come !== undefined && want.key === come.key) {
      a += 1;
      b += 1;
    } else if (come === undefined || (want !== undefined && at(a + 1, b) >= at(a, b + 1))) {
      if (want !== undefined) missing.push(want);
      a += 1;
    } else {
      extra.push(come);
      b += 1;
    }
  }
  return { missing, extra };
}
