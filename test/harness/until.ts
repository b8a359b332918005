/** What `look` gives, once it is neither false nor nothing; throws after `ms` with what was waited for. */
export async function until<T>(
  look: () => T | Promise<T>,
  what = 'the condition to hold',
  ms = 20_000,
): Promise<Exclude<T, undefined | null | false | undefined>> {
  const end = performance.now() + ms;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== null && value !== false)
      return value as Exclude<T, undefined | null | false | undefined>;
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
