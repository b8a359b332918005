/** The oldest Node siteward runs on. Older ones crash in the database module instead of saying why. */
const needed = 24;

/** What to tell the user of a Node that is too old; undefined when it will do. Imports nothing, so that it always runs. */
export function nodeProblem(version: string): string | undefined {
  if (Number.parseInt(version, 10) >= needed) return undefined;
  return `node_too_old: siteward needs Node ${needed} or newer, this is ${version}. Run it with "npm run siteward --", which brings its own.`;
}
