import type { DetectionClass } from '#site/model/index.ts';
import type { Items, Notification } from './notification.ts';
import type { TopicFinder } from './topics.ts';
import type { Tokens, Topology } from './topology.ts';

/** Which video source a message is about. */
export interface Claim {
  readonly source: string;
  /** guessed: by a number alone, as no token the device has fits. */
  readonly how: 'exact' | 'guessed';
}

const sourceItems = ['VideoSourceToken', 'VideoSource', 'Source'];
const configurationItems = ['VideoSourceConfigurationToken', 'VideoSourceConfiguration', 'Source', 'VideoSourceToken'];
const analyticsItems = ['VideoAnalyticsConfigurationToken', 'VideoAnalyticsConfiguration'];
const everyItem = [...new Set([...sourceItems, ...configurationItems, ...analyticsItems, 'ProfileToken'])];

/** Words of devices with one picture that name no token of theirs. */
const specialWords: ReadonlySet<string> = new Set(['vsconf', 'VideoSourceMain', 'VideoSourceToken']);

/** What happens at the device and not in a picture, whatever token it names. */
const deviceLevel: ReadonlySet<DetectionClass> = new Set([
  'input',
  'relay',
  'storage_fault',
  'hardware_fault',
  'network_fault',
  'recording',
  'system',
  'access',
]);

export function isDeviceLevel({ topic }: Notification, find: TopicFinder): boolean {
  const detection = find(topic)?.detection;
  return detection !== undefined && deviceLevel.has(detection);
}

/**
 * The source a message names, by the first of these that fits; undefined is the device as a whole, and never "the first
 * channel": (1) a source's token, (2) a configuration's, (3) an analytics configuration's, (4) a profile's, (5) a special word
 * on a device with one source, (6) a number, as a guess. `roster` is every source the device ever had, by position, so
 * that a channel which is away does not make the others move up.
 */
export function claimOf(
  topology: Topology,
  message: Notification,
  roster: readonly string[],
  find: TopicFinder,
): Claim | undefined {
  if (isDeviceLevel(message, find)) return undefined;
  const known = new Map(topology.sources.map(({ token }) => [token, token]));
  const exact =
    byItems(message.source, sourceItems, known) ??
    byItems(message.source, configurationItems, topology.configurations) ??
    byItems(message.source, analyticsItems, topology.analytics) ??
    byItems(message.source, everyItem, topology.profiles) ??
    bySpecialWord(topology, message.source);
  if (exact !== undefined) return { source: exact, how: topology.byOrder ? 'guessed' : 'exact' };
  const guessed = byNumber(topology, message.source, roster);
  return guessed === undefined ? undefined : { source: guessed, how: 'guessed' };
}

function byItems(items: Items, names: readonly string[], tokens: Tokens): string | undefined {
  for (const name of names) {
    const found = tokens.get(items[name] ?? '');
    if (found !== undefined) return found;
  }
  return undefined;
}

function bySpecialWord({ sources }: Topology, items: Items): string | undefined {
  const [only, ...more] = sources;
  if (only === undefined || more.length > 0) return undefined;
  return everyItem.some((name) => specialWords.has(items[name] ?? '')) ? only.token : undefined;
}

/** `001` is the second source, and so is `00100`: channel, then stream. Not where the device's own tokens look like that. */
function byNumber({ sources, configurations }: Topology, items: Items, roster: readonly string[]): string | undefined {
  const own = [...sources.map(({ token }) => token), ...configurations.keys(), ...roster];
  for (const name of everyItem) {
    const number = numberOf(items[name]);
    if (number === undefined || own.some((token) => token.length === number.digits && numberOf(token) !== undefined))
      continue;
    const token = roster[number.index];
    if (token !== undefined) return token;
  }
  return undefined;
}

function numberOf(text: string | undefined): { readonly index: number; readonly digits: number } | undefined {
  if (text === undefined || !/^(\d{3}|\d{5})$/.test(text)) return undefined;
  return { index: Number(text.slice(0, 3)), digits: text.length };
}

/** What old firmware of some recorders names in every event, whichever channel it is about. */
export const alwaysZero = '000';

/** The three-digit numbers a message names. */
export const channelNumbers = ({ source }: Notification): readonly string[] =>
  everyItem.flatMap((name) => (/^\d{3}$/.test(source[name] ?? '') ? [source[name] ?? ''] : []));
