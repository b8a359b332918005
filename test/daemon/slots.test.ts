import { pino } from 'pino';
import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { Secret } from '#lib/secret.ts';
import { createSlots, type Slot } from '../../src/daemon/slots.ts';

interface Settings {
  readonly a: string;
  readonly b: string | undefined;
  readonly password: Secret;
  readonly broken?: boolean;
}

const settings = (over: Partial<Settings> = {}): Settings => ({ a: '1', b: '1', password: new Secret('one'), ...over });

function house(extra: Partial<Record<'a' | 'b', Partial<Slot<Settings>>>> = {}) {
  const story: string[] = [];
  const part = (name: string) => ({
    name,
    start: async () => void story.push(`start ${name}`),
    stop: async () => void story.push(`stop ${name}`),
    health: () => ({ state: 'ok' as const }),
  });
  const slots: Slot<Settings>[] = [
    { name: 'a', wants: ({ a, password }) => [a, password], create: () => part('a'), ...extra.a },
    {
      name: 'b',
      wants: ({ b, broken }) => [b, broken],
      create({ b, broken }, metrics) {
        if (broken === true) throw new Error('cannot be made');
        new Counter({ name: 'siteward_b_total', help: 'b', registers: [metrics] });
        return b === undefined ? undefined : part('b');
      },
      ...extra.b,
    },
  ];
  return { story, slots: createSlots({ slots, processMetrics: new Registry(), log: pino({ level: 'silent' }) }) };
}

describe('the slots of the daemon', () => {
  it('start in order and stop in reverse', async () => {
    const { story, slots } = house();
    await slots.start(settings());
    await slots.stop();
    expect(story).toEqual(['start a', 'start b', 'stop b', 'stop a']);
  });

  it('swap only the part whose settings changed, and its metrics with it', async () => {
    const { story, slots } = house();
    await slots.start(settings());
    story.length = 0;
    expect(await slots.reload(settings({ b: '2' }))).toEqual(['b']);
    expect(story).toEqual(['stop b', 'start b']);
    expect((await slots.metrics()).match(/# TYPE siteward_b_total/g)).toHaveLength(1);
  });

  it('notice a secret that changed, and one that did not', async () => {
    const { slots } = house();
    await slots.start(settings());
    expect(await slots.reload(settings())).toEqual([]);
    expect(await slots.reload(settings({ password: new Secret('two') }))).toEqual(['a']);
  });

  it('give a running part its new settings where it can take them', async () => {
    const taken: string[] = [];
    const { story, slots } = house({
      a: { wants: () => 'fixed', adapts: { wants: ({ a }) => a, to: async ({ a }) => void taken.push(a) } },
    });
    await slots.start(settings());
    story.length = 0;
    expect(await slots.reload(settings({ a: '2' }))).toEqual([]);
    await slots.reload(settings({ a: '2' }));
    expect(taken).toEqual(['2']);
    expect(story).toEqual([]);
  });

  it('go on without a part that cannot be made, say why, and make it when its settings allow', async () => {
    const { story, slots } = house();
    await slots.start(settings({ broken: true }));
    expect(story).toEqual(['start a']);
    expect(slots.health()).toMatchObject([
      { name: 'a', state: 'ok' },
      { name: 'b', state: 'down', reason: 'cannot be made' },
    ]);
    await slots.reload(settings());
    expect(slots.health()).toMatchObject([
      { name: 'a', state: 'ok' },
      { name: 'b', state: 'ok' },
    ]);
  });

  it('make a part that could not be made once it can be, with the same settings', async () => {
    let isThere = false;
    const { story, slots } = house({
      b: {
        create() {
          if (!isThere) throw new Error('its file is not there');
          return {
            name: 'b',
            start: async () => void story.push('start b'),
            stop: async () => {},
            health: () => ({ state: 'ok' }),
          };
        },
      },
    });
    await slots.start(settings());
    await slots.retry();
    expect(slots.health()).toMatchObject([{ state: 'ok' }, { state: 'down', reason: 'its file is not there' }]);
    isThere = true;
    await slots.retry();
    await slots.retry();
    expect(story).toEqual(['start a', 'start b']);
    expect(slots.health()).toMatchObject([{ state: 'ok' }, { state: 'ok' }]);
  });

  it('make a failed part anew at a reload that changes nothing', async () => {
    let isThere = false;
    const { slots } = house({
      b: {
        create() {
          if (!isThere) throw new Error('its file is not there');
          return undefined;
        },
      },
    });
    await slots.start(settings());
    isThere = true;
    expect(await slots.reload(settings())).toEqual(['b']);
  });

  it('run on with the settings before when a vital part cannot be made of the new ones', async () => {
    const { story, slots } = house({ b: { vital: true } });
    await slots.start(settings());
    story.length = 0;
    await expect(slots.reload(settings({ a: '2', b: '2', broken: true }))).rejects.toThrow('cannot be made');
    expect(story).toEqual(['stop b', 'stop a', 'start a', 'stop a', 'start a', 'start b']);
    expect(slots.health()).toMatchObject([
      { name: 'a', state: 'ok' },
      { name: 'b', state: 'ok' },
    ]);
    expect(await slots.reload(settings())).toEqual([]);
  });

  it('make all again that a reload stopped, when a vital part can be made again', async () => {
    let fails = false;
    const { slots } = house({
      a: {
        vital: true,
        create() {
          if (fails) throw new Error('the disk is read-only');
          return { name: 'a', start: async () => {}, stop: async () => {}, health: () => ({ state: 'ok' }) };
        },
      },
    });
    await slots.start(settings());
    fails = true;
    await expect(slots.reload(settings({ a: '2', b: '2' }))).rejects.toThrow('read-only');
    expect(slots.health()).toMatchObject([
      { name: 'a', state: 'down', reason: 'the disk is read-only' },
      { name: 'b', state: 'down', reason: 'is not running' },
    ]);
    await expect(slots.retry()).rejects.toThrow('read-only');
    fails = false;
    await slots.retry();
    expect(slots.health()).toMatchObject([
      { name: 'a', state: 'ok' },
      { name: 'b', state: 'ok' },
    ]);
  });

  it('do not start without a vital part', async () => {
    const { slots } = house({ b: { vital: true } });
    await expect(slots.start(settings({ broken: true }))).rejects.toThrow('cannot be made');
  });

  it('end a part that the settings no longer want', async () => {
    const { story, slots } = house();
    await slots.start(settings());
    await slots.reload(settings({ b: undefined }));
    expect(story.at(-1)).toBe('stop b');
    expect(slots.health().map(({ name }) => name)).toEqual(['a']);
  });
});
