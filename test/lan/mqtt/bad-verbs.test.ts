import { describe, expect, it } from 'vitest';
import { decide, initialState } from '#site/core/index.ts';
import { type ParsedCommand, parseCommand } from '../../../src/lan/mqtt/parse.ts';
import { siteCommand } from '../../../src/lan/mqtt/site-command.ts';
import { house, stamp } from '../../site/core/world.ts';
import { commandId } from './harness.ts';

/** What is wrong with a command, whatever its verb. Calls for help are in `panic.test.ts`. */
const verbs = {
  silence: { partition: 'p1', code: '4827' },
  snapshot: { camera: 'yard' },
  play: { audio_message_id: 'leave' },
  cancel: { playback_id: 'x1' },
  dispatch: { kind: 'guard' },
  watch: { panel: 'main', minutes: 5 },
  ping: {},
} as const;
const at = stamp(0);
const iso = (ms: number) => new Date(at.wall + ms).toISOString();

const body = (verb: keyof typeof verbs, more: object = {}) => ({
  id: commandId(),
  issued_at: iso(0),
  ...verbs[verb],
  ...more,
});
const read = (verb: string, payload: object | Buffer, more: object = {}) =>
  parseCommand(
    {
      verb,
      payload: Buffer.isBuffer(payload) ? payload : Buffer.from(JSON.stringify(payload)),
      retained: false,
      ...more,
    },
    at.wall,
  );

/** How the site judges it. */
function judged(verb: keyof typeof verbs, more: object, raw: object = {}) {
  const parsed = read(verb, body(verb, more), raw);
  if (parsed.kind !== 'command') throw new Error('refused at the door');
  const command = siteCommand(parsed.command as Exclude<ParsedCommand, { verb: 'query' | 'ping' | 'verify' }>, 'kp1', {
    code: parsed.command.code === undefined ? 'none' : 'ok',
  });
  const state = initialState(house(), at, { storeLost: false });
  const { effects } = decide(house(), state, { kind: 'command', command, at });
  const reply = effects.find((effect) => effect.kind === 'reply');
  return reply?.kind === 'reply' ? [reply.result.outcome, reply.result.error?.code] : [];
}

describe.each(Object.keys(verbs) as (keyof typeof verbs)[])('cmd/%s', (verb) => {
  it.each([
    ['retained', { retained: true }, body(verb), { code: 'RETAINED' }],
    ['no JSON', {}, Buffer.from('PRESS'), { code: 'BAD_JSON' }],
    ['not UTF-8', {}, Buffer.from([0x7b, 0xff, 0x7d]), { code: 'NOT_UTF8' }],
    ['oversized', {}, Buffer.alloc(9000, 0x20), { code: 'TOO_LARGE' }],
    ['a long text', {}, body(verb, { correlation: 'x'.repeat(2000) }), { code: 'TOO_LARGE', field: 'correlation' }],
    ['deeply nested', {}, body(verb, { a: [[[[[[[1]]]]]]] }), { code: 'TOO_LARGE', field: 'a' }],
    ['an unknown member', {}, body(verb, { colour: 'red' }), { code: 'SCHEMA', field: 'colour' }],
    ['no id', {}, body(verb, { id: undefined }), { code: 'SCHEMA', field: 'id' }],
    ['no time', {}, body(verb, { issued_at: undefined }), { code: 'SCHEMA', field: 'issued_at' }],
    ['a code that is a number', {}, body(verb, { code: 4827 }), { code: 'SCHEMA', field: 'code' }],
  ])('%s is refused at the door', (_, raw, payload, refusal) => {
    expect(read(verb, payload, raw)).toMatchObject({ kind: 'refused', refusal });
  });

  it('an empty payload is nothing, and the same body twice has one hash', () => {
    expect(read(verb, Buffer.alloc(0))).toEqual({ kind: 'empty' });
    const one = body(verb);
    const hashes = [one, { ...one, code: '9999' }, { ...one, correlation: 'x' }].map((each) => {
      const parsed = read(verb, each);
      return parsed.kind === 'command' ? parsed.command.bodyHash : '';
    });
    expect(hashes[1]).toBe(hashes[0]);
    expect(hashes[2]).not.toBe(hashes[0]);
  });

  // A ping has no effect that could come too late.
  it.each(verb === 'ping' ? [] : [verb])('%s too old, past its expiry or from the future is answered as such', () => {
    expect(judged(verb, { issued_at: iso(-130_000) })).toEqual(['expired', 'EXPIRED']);
    expect(judged(verb, { issued_at: iso(-5000), expires_at: iso(-1) })).toEqual(['expired', 'EXPIRED']);
    expect(judged(verb, { issued_at: iso(31_000) })).toEqual(['refused', 'FUTURE']);
    // The expiry of MQTT 5 is the same as the member.
    expect(judged(verb, { issued_at: iso(-100_000) }, { expiryS: 10 })[0]).not.toBe('expired');
    expect(judged(verb, { issued_at: iso(-100_000) })).toEqual(['expired', 'EXPIRED']);
    expect(judged(verb, {})[0]).not.toMatch(/expired|refused/);
  });
});

it('of what is asked of another room, a code in the place of a name is refused, and one in a note is dropped', () => {
  expect(read('snapshot', body('snapshot', { camera: '4827', code: '4827' }))).toMatchObject({
    refusal: { code: 'SCHEMA', field: 'camera' },
  });
  expect(read('play', body('play', { audio_message_id: '4827', code: '4827' }))).toMatchObject({
    refusal: { field: 'audio_message_id' },
  });
  const parsed = read('dispatch', body('dispatch', { note: 'gate 4827', code: '4827' }));
  expect(parsed.kind === 'command' && parsed.command.body).not.toHaveProperty('note');
  const plain = read('dispatch', body('dispatch', { note: ' 4827 ' }));
  expect(plain.kind === 'command' && plain.command.body).not.toHaveProperty('note');
});
