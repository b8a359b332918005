import { afterEach, expect, it } from 'vitest';
import { type Rig, startRig } from './rig.ts';

let rigs: Rig[] = [];
afterEach(async () => {
  for (const rig of rigs) await rig.remove();
  rigs = [];
});

async function alarmed(): Promise<Rig> {
  const rig = await startRig();
  rigs.push(rig);
  await rig.open('1', false);
  await rig.command({ verb: 'arm', code: 'ok' });
  await rig.open('1', true);
  expect(rig.state()).toBe('triggered');
  expect(rig.hushed).toEqual([]);
  return rig;
}

it.each(['disarm', 'silence'] as const)(
  '%s ends the sound of a burglary at the decision, whatever the disk does',
  async (verb) => {
    const rig = await alarmed();
    rig.refuse = true;
    const before = rig.commits.length;
    void rig.command({ verb, code: 'ok' });
    // In the same turn: nothing is written by then.
    expect(rig.hushed).toEqual([{ partition: 'p1', commits: before }]);
    rig.refuse = false;
  },
);

it('a disarm with a duress code ends it as any other does (safety 4)', async () => {
  const rig = await alarmed();
  await rig.command({ verb: 'disarm', code: 'duress' });
  expect(rig.hushed.map(({ partition }) => partition)).toEqual(['p1']);
});

it('what is refused, a silent hold-up, and arming end no sound', async () => {
  const rig = await alarmed();
  await rig.command({ verb: 'disarm', code: 'bad' });
  await rig.command({ verb: 'disarm', code: 'none' });
  await rig.open('9', true);
  await rig.open('1', false);
  await rig.command({ verb: 'arm', code: 'ok' });
  expect(rig.hushed).toEqual([]);
});
