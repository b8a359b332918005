import { describe, expect, it } from 'vitest';
import { randomOf } from '../proof/random.ts';
import { flatness, type Gauge, type Sample, tableOf } from './flat.ts';

const gauge: Gauge = { name: 'heap used', unit: 'MiB', share: 0.08, least: 4 };
const everyS = 5;
const hours = 2;
const count = (hours * 3600) / everyS;

/** Two hours of one process; `shape` is told the sample's number and the share of the time that has passed. */
function life(shape: (at: number, share: number) => number, { pid = 7, from = 0, samples = count } = {}) {
  return Array.from(
    { length: samples },
    (_, at): Sample => ({ at: from + at * everyS, pid, values: { 'heap used': shape(at, at / count) } }),
  );
}

const noise = (size: number) => {
  const random = randomOf(3);
  return () => random.between(0, size);
};

function verdict(samples: readonly Sample[]): string {
  const { rows, trouble } = flatness(samples, [gauge]);
  return trouble ?? rows.map(({ isFlat }) => (isFlat ? 'flat' : 'grows')).join();
}

/** Rubbish that is collected, sooner or later, and what is not. */
const heap = (kept: (share: number) => number) => {
  const more = noise(8);
  return life((at, share) => 50 + kept(share) + (at % 7) * 2 + more());
};

describe('what grows', () => {
  it.each([
    ['from the first to the last minute', (share: number) => share * 14],
    ['faster and faster', (share: number) => share ** 3 * 20],
    ['in steps', (share: number) => Math.floor(share * 14)],
  ])('%s, under twice as much rubbish', (_, kept) => {
    expect(verdict(heap(kept))).toBe('grows');
  });

  it('a counter that is one more every few minutes', () => {
    expect(verdict(life((at) => 60 + Math.floor(at / 60)))).toBe('grows');
  });

  it('and that for one gauge is no more than for the others', () => {
    const samples = life((_, share) => 50 + share * 10).map((sample) => ({
      ...sample,
      values: { ...sample.values, threads: 12 },
    }));
    const { rows } = flatness(samples, [gauge, { name: 'threads', unit: '', share: 0, least: 1 }]);
    expect(rows.map(({ gauge: name, isFlat }) => [name, isFlat])).toEqual([
      ['heap used', false],
      ['threads', true],
    ]);
    expect(rows[0]?.perHour).toBeCloseTo(5, 1);
  });
});

describe('what is flat', () => {
  it.each([
    ['nothing but rubbish', () => 0],
    ['what fills up in the first quarter', (share: number) => Math.min(share / 0.25, 1) * 40],
    ['what nears a bound', (share: number) => 40 * (1 - Math.exp(-share * 10))],
    ['one step in the middle', (share: number) => (share > 0.6 ? 10 : 0)],
    ['one step shortly before the end', (share: number) => (share > 0.95 ? 10 : 0)],
    ['what becomes less', (share: number) => 30 - share * 20],
    ['less than the allowance', (share: number) => share * 3],
  ])('%s', (_, kept) => {
    expect(verdict(heap(kept))).toBe('flat');
  });

  it('a log that grows for half an hour and is emptied, again and again', () => {
    expect(verdict(life((at) => (at % 360) * 0.2))).toBe('flat');
  });
});

describe('the lives of processes', () => {
  it('the longest one counts, and what was before it does not', () => {
    const short = life(() => 500, { pid: 3, samples: 120 });
    const long = life((_, share) => 50 + share * 10, { pid: 4, from: 600 });
    expect(verdict([...short, ...long])).toBe('grows');
    expect(verdict([...short, ...life(() => 50, { pid: 4, from: 600 })])).toBe('flat');
  });

  it('one that ends by itself half way is no verdict, and not a good one', () => {
    const lives = [0, 1, 2].flatMap((at) => life(() => 50, { pid: at + 1, from: at * 2400, samples: 480 }));
    expect(verdict(lives)).toContain('no life of siteward was long enough');
    expect(flatness([], [gauge]).trouble).toBeDefined();
  });
});

describe('what is meant to fill up', () => {
  const fills = heap((share) => share * 20);
  const rowWith = (samples: readonly Sample[], bound: number) => {
    const watched = flatness(samples, [gauge], { 'heap used': bound });
    return [watched.rows[0]?.isFlat, tableOf(watched).split('\n').at(-1)?.split(/ {2,}/).at(-1)];
  };

  it('may grow below its bound, and must not end above it', () => {
    expect(verdict(fills)).toBe('grows');
    expect(rowWith(fills, 80)).toEqual([true, 'fills up to 80.0']);
    expect(rowWith(fills, 60)).toEqual([false, 'ABOVE 60.0']);
  });

  it('is flat once it is full, and found where it is flat above its bound', () => {
    const full = heap((share) => Math.min(share / 0.25, 1) * 20);
    expect(rowWith(full, 80)).toEqual([true, 'flat']);
    expect(rowWith(full, 60)).toEqual([false, 'ABOVE 60.0']);
  });
});

it('a table tells start, middle, end, slope and verdict of each', () => {
  const table = tableOf(
    flatness(
      life((_, share) => 50 + share * 10),
      [gauge],
    ),
  );
  expect(table.split('\n')).toHaveLength(3);
  expect(table).toMatch(/watched +90 minutes of one life/);
  expect(table).toMatch(/heap used, MiB +53\.\d +56\.\d +58\.\d +60\.0 +5\.0 +4\.3 +GROWS/);
});
