import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFailed } from 'vitest';
import type { CrashPoint } from '#lib/crash-point.ts';
import type { ArmingWord } from '#site/model/index.ts';
import { temporaryDir, withFile } from '../site/store/helpers.ts';
import { play } from './arming/machine.ts';
import type { Step } from './arming/steps.ts';
import { plan, type Said, type StoryInput, storyOf } from './arming/store-story.ts';
import { rank } from './arming/twins.ts';
import { randomOf } from './random.ts';

/** I2 and I5 on the real store: the process ends at each write point of a decision, again and again, within one story. */
const points = [
  'commit.begun',
  'commit.rows',
  'commit.committed',
  'commit.answered',
  'published',
] as const satisfies readonly CrashPoint[];
const livesAtEach = 3;
const child = join(import.meta.dirname, 'arming', 'store-child.ts');

interface Life {
  readonly said: readonly Said[];
  readonly signal: NodeJS.Signals | null;
}

async function life(args: readonly string[], crashAt = ''): Promise<Life> {
  const env = { ...process.env, SITEWARD_CRASH_AT: crashAt };
  const running = spawn(process.execPath, ['--no-memory-protection-keys', child, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  });
  const said: Said[] = [];
  createInterface({ input: running.stdout }).on('line', (line) => {
    if (line.endsWith('}')) said.push(JSON.parse(line) as Said);
  });
  const [, signal] = (await once(running, 'close')) as [number | null, NodeJS.Signals | null];
  return { said, signal };
}

/** The first input without an answer; who gave it and all later ones gives them again. */
function firstUnanswered(lives: readonly Life[]): number {
  const taken = new Set(lives.flatMap(({ said }) => said.flatMap((one) => (one.what === 'taken' ? [one.index] : []))));
  for (let index = 0; ; index += 1) if (!taken.has(index)) return index;
}

const asStep = (input: StoryInput): Step =>
  input.kind === 'signal'
    ? { do: 'signal', signal: input.signal }
    : { do: 'command', command: input.command, ageMs: 0 };

interface Row {
  readonly eid: string;
  readonly event: string;
}

/** What lies in the files afterwards. */
function onDisk(dir: string) {
  const read = <T>(file: string, sql: string): T[] => withFile(join(dir, file), (db) => db.prepare<[], T>(sql).all());
  const events = (file: string) => read<Row>(file, 'SELECT eid, event FROM ev ORDER BY seq');
  return {
    arming: read<{ part: string; seq: number; record: string }>(
      'site.db',
      'SELECT part, seq, record FROM arming ORDER BY part, seq',
    ),
    events: [...events('site.db'), ...events('bulk.db')],
    audit: read<{ record: string }>('site.db', 'SELECT record FROM audit ORDER BY n').map(({ record }) => record),
  };
}

describe('a process that ends at every write point of a decision', () => {
  it('counts each transition once, tells each once under one id, and ends no less safe than one that lives', {
    timeout: 180_000,
  }, async () => {
    const random = randomOf();
    onTestFailed(() => void process.stderr.write(`repeat with SITEWARD_SEED=${random.seed}\n`));
    const dir = join(temporaryDir(), 'state');
    const file = join(temporaryDir(), 'story.json');
    const inputs = storyOf(random, 90);
    writeFileSync(file, JSON.stringify(inputs));
    const lives: Life[] = [];
    for (const point of Array.from({ length: livesAtEach }, () => points).flat()) {
      const nth = random.whole(2, 7);
      lives.push(await life([dir, file, String(firstUnanswered(lives))], `${point}:${nth}`));
    }
    const crashes = lives.filter(({ signal }) => signal === 'SIGKILL').length;
    const last = await life([dir, file, String(firstUnanswered(lives))]);
    lives.push(last);

    const said = lives.flatMap((one) => one.said);
    expect(said.filter(({ what }) => what === 'twice')).toEqual([]);
    const { arming, events, audit } = onDisk(dir);
    for (const part of ['p1', 'p2']) {
      const seqs = arming.flatMap((row) => (row.part === part ? [row.seq] : []));
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    }
    const records = arming.map(
      ({ record }) => JSON.parse(record) as { partition: string; seq: number; state: ArmingWord },
    );
    const named = ({ partition, seq }: { partition: string; seq: number }) => `${partition} ${seq}`;
    const audited = audit
      .map((record) => JSON.parse(record) as { kind: string; target: string; seq: number })
      .filter(({ kind }) => kind === 'transition');
    expect(audited.map(({ target, seq }) => `${target} ${seq}`).sort()).toEqual(records.map(named).sort());
    const told = events
      .map(({ event }) => JSON.parse(event) as { class: string; partition: string; data: { arming: { seq: number } } })
      .filter((event) => event.class === 'arming')
      .map(({ partition, data }) => `${partition} ${data.arming.seq}`);
    const final = records.filter(({ state }) => state === 'disarmed' || state.startsWith('armed_'));
    expect(told.sort()).toEqual(final.map(named).sort());
    // Every event that was shown lies there under its id.
    const ids = new Set(events.map(({ eid }) => eid));
    expect(ids.size).toBe(events.length);
    const shown = said.flatMap((one) => (one.what === 'event' ? [one] : []));
    expect(shown.filter(({ id }) => !ids.has(id))).toEqual([]);
    expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length);

    const end = last.said.find((one) => one.what === 'end');
    const uncut = play(plan, inputs.map(asStep)).at(-1)?.after.partitions ?? {};
    for (const id of ['p1', 'p2']) expect(rank(end?.words[id])).toBeLessThanOrEqual(rank(uncut[id]?.state));
    expect(crashes).toBeGreaterThan(points.length);
  });
});
