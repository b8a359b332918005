import type { ArmingWord, Signal, SitePlan } from '#site/model/index.ts';
import { house, partition, zone } from '../../site/core/world.ts';
import type { Random } from '../random.ts';
import type { SentCommand } from './steps.ts';

/** A line of `store-child.ts`. */
export type Said =
  | { readonly what: 'taken'; readonly index: number }
  | { readonly what: 'event'; readonly id: string; readonly text: string }
  | { readonly what: 'twice'; readonly id: string }
  | { readonly what: 'end'; readonly words: Readonly<Record<string, ArmingWord>> };

export type StoryInput =
  | { readonly kind: 'signal'; readonly signal: Signal }
  | { readonly kind: 'command'; readonly command: SentCommand };

/** Without delays: what a story ends in does not depend on the time it takes. */
export const plan: SitePlan = house({
  partitions: ['p1', 'p2'].map((id) => partition(id, { exitDelayMs: 0, entryDelayMs: 0 })),
  zones: [zone('1', 'entry_exit_1'), zone('2', 'perimeter', { partitions: ['p2'] }), zone('10', 'fire')],
  cameras: [],
});

/** People arm and disarm, doors open and close. */
export function storyOf(random: Random, length: number): StoryInput[] {
  const link: Signal = { kind: 'link', source: { kind: 'panel', id: 'main' }, layer: 'bridge', up: true };
  const zoneSignal = (number: string, open: boolean): StoryInput => ({
    kind: 'signal',
    signal: { kind: 'zone', source: { kind: 'panel', id: 'main' }, zone: number, open, replay: false },
  });
  const begin: StoryInput[] = [
    { kind: 'signal', signal: link },
    ...plan.zones.map(({ number }) => zoneSignal(number, false)),
  ];
  const rest = Array.from({ length }, (_, index): StoryInput => {
    if (random.chance(0.5)) return zoneSignal(random.pick(plan.zones).number, random.chance(0.4));
    const verb = random.pick(['arm', 'arm', 'disarm'] as const);
    const command: SentCommand = {
      ...{ id: `c-${index}`, verb, partition: random.pick(['p1', 'p2', 'all'] as const) },
      ...(verb === 'arm' && { mode: random.pick(['away', 'home'] as const), force: true }),
      ...{ source: 'lan', client: 'keypad', actor: 'anna', code: 'ok', bodyHash: `h-${index}` },
    };
    return { kind: 'command', command };
  });
  return [...begin, ...rest];
}
