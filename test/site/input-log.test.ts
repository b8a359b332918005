import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { decide, type Input, markOf } from '#site/core/index.ts';
import type { Command } from '#site/model/index.ts';
import { inputLog } from '../../src/site/input-log.ts';
import { stamp, world } from './core/world.ts';

const base = { id: 'c1', partition: 'p1', issuedAt: stamp(0).wall, source: 'cli', client: 'control socket' } as const;
const inPlaceOf: Record<string, Partial<Command>> = {
  'a zone': { verb: 'bypass', zone: '2580' },
  'a zone to leave out': { verb: 'arm', mode: 'away', bypass: ['2580', '1'] },
  'a zone to walk': { verb: 'test', minutes: 5, zones: ['1', '2580'] },
  'a schedule': { verb: 'postpone', partition: 'all', minutes: 10, schedule: '2580' },
};

it.each(Object.entries(inPlaceOf))('keeps no code that was typed in place of %s, and is replayed alike', (_, body) => {
  const { plan, state } = world();
  const command = { ...base, actor: 'anna', code: 'ok', bodyHash: 'hash', ...body } as Command;
  const input: Input = { kind: 'command', at: stamp(0), command };
  const log = inputLog({ metrics: new Registry(), version: '1' });
  const decision = decide(plan, state, input);
  log.add(plan, state, { input, decision });
  const [line = ''] = log.take();
  expect(line).not.toContain('2580');
  const kept = JSON.parse(line) as { input: Input; mark: unknown };
  expect(kept.input).toMatchObject({ command: { actor: 'anna', verb: body.verb } });
  expect(markOf(state, decide(plan, state, kept.input))).toEqual(markOf(state, decision));
});
