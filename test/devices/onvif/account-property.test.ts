import fc from 'fast-check';
import { expect, it } from 'vitest';
import { authHoldMs, type Door, eightOf, nonces, threeDoors } from './three-doors.ts';

/** What wants the password, of a device of each kind. */
const kinds: Readonly<Record<string, { readonly doors: readonly Door[]; readonly open?: string }>> = {
  all: { doors: ['events', 'picture', 'stream', 'speaker'] },
  'only pictures': { doors: ['picture'] },
  'only streams': { doors: ['stream'] },
  'pictures and streams': { doors: ['picture', 'stream'] },
  'only the speaker': { doors: ['speaker'] },
  'all but what it is': { doors: ['events', 'picture', 'stream'], open: 'GetDeviceInformation' },
};

type Made = Awaited<ReturnType<typeof threeDoors>>;
const steps: Readonly<Record<string, (made: Made) => unknown>> = {
  events: ({ ask }) => ask.events(),
  profiles: ({ ask }) => ask.profiles(),
  picture: ({ ask }) => ask.picture(),
  stream: ({ ask }) => ask.stream(),
  speaker: ({ ask }) => ask.speaker(),
  'eight streams': ({ ask }) => eightOf(ask),
  'all at once': ({ ask }) =>
    Promise.allSettled([ask.picture(), ask.stream(), ask.speaker(), ask.events(), ask.profiles()]),
  restart: ({ restart }) => restart(),
  'killed at its events': ({ kill, ask }) => kill(ask.events),
  'killed at a picture': ({ kill, ask }) => kill(ask.picture),
  'killed at a stream': ({ kill, ask }) => kill(ask.stream),
  'ten seconds': ({ clock }) => clock.advance(10_000),
  'five minutes': ({ clock }) => clock.advance(300_000),
  'the hold time': ({ clock }) => clock.advance(authHoldMs),
};
const changes = ['right', 'wrong', 'away', 'back', 'SOAP away', 'SOAP back'] as const;

function change(made: Made, wants: readonly Door[], to: (typeof changes)[number]): void {
  const { doors } = made;
  if (to === 'wrong') made.change();
  if (to === 'right' || to === 'wrong')
    doors.passes = (door, tried) => !wants.includes(door) || (tried && to === 'right');
  else if (to.startsWith('SOAP')) doors.soap = to === 'SOAP away' ? 'away' : 'there';
  else doors.isAway = to === 'away';
}

const trade = fc.record({
  kind: fc.constantFrom(...Object.keys(kinds)),
  nonce: fc.constantFrom(...nonces),
  begin: fc.constantFrom('right' as const, 'wrong' as const),
  steps: fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...Object.keys(steps)) },
      { weight: 1, arbitrary: fc.constantFrom(...changes) },
    ),
    { minLength: 4, maxLength: 24 },
  ),
});

it('a device never sees more wrong tries in a row per hold time than are allowed, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(trade, async ({ kind, nonce, begin, steps: all }) => {
      const opened: { stop(): Promise<void> | void }[] = [];
      const made = await threeDoors(nonce.made(), opened);
      try {
        const { doors, open } = kinds[kind] ?? { doors: [] };
        made.doors.open = open ?? 'none';
        change(made, doors, begin);
        for (const step of all) {
          const work = steps[step];
          if (work === undefined) change(made, doors, step as (typeof changes)[number]);
          else await Promise.resolve(work(made)).catch(() => undefined);
          const { refusals, allowed } = made.worst();
          expect(refusals).toBeLessThanOrEqual(allowed);
        }
      } finally {
        for (const one of opened.reverse()) await one.stop();
      }
    }),
    { numRuns: Number(process.env.RUNS ?? 60) },
  );
}, 120_000);
