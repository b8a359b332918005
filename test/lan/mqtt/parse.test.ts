import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCommand, type RawCommand } from '../../../src/lan/mqtt/parse.ts';

const id = '00000017-0000-4000-8000-000000000000';
const at = '2026-11-27T20:00:00Z';
const wall = Date.parse(at);

function parse(payload: string | Uint8Array, change: Partial<RawCommand> = {}) {
  return parseCommand({ verb: 'disarm', payload: Buffer.from(payload), retained: false, ...change }, wall);
}
const body = (change: object = {}) => JSON.stringify({ id, issued_at: at, partition: 'p1', ...change });
const refusalOf = (parsed: ReturnType<typeof parse>) => (parsed.kind === 'refused' ? parsed.refusal : parsed.kind);
function commandOf(parsed: ReturnType<typeof parse>) {
  if (parsed.kind !== 'command') throw new Error(`refused: ${JSON.stringify(parsed)}`);
  return parsed.command;
}

describe('a code in a wrong place', () => {
  const zone = (change: object) =>
    parse(JSON.stringify({ id, issued_at: at, on: true, zone: '2', ...change }), { verb: 'bypass' });

  it('as what the command is for refuses it, by the name of the member', () => {
    expect(refusalOf(zone({ code: '48275', zone: '48275' }))).toEqual({ code: 'SCHEMA', field: 'zone' });
    const armed = parse(body({ mode: 'away', code: '4827', bypass: ['2', '4827'] }), { verb: 'arm' });
    expect(refusalOf(armed)).toEqual({ code: 'SCHEMA', field: 'bypass' });
    const words = parse(body({ mode: 'away', code: 'away' }), { verb: 'arm' });
    expect(words.kind).toBe('command');
  });

  it('as a reason or a correlation is dropped, and the command goes on', () => {
    for (const change of [
      { code: 'abcd9', reason: 'abcd9' },
      { code: '73915028', reason: 'it is 73915028, for the cleaner' },
      { reason: ' 73915028 ' },
      { code: '4827', reason: '4828' },
    ]) {
      expect(commandOf(zone(change)).body).not.toHaveProperty('reason');
    }
    expect(commandOf(zone({ code: '4827', reason: 'delivery at 1400' })).body).toHaveProperty('reason');
    for (const parsed of [
      parse(body({ code: '4827', correlation: '4827' })),
      parse(body({ code: '4827', correlation: '4827', volume: 3 })),
    ]) {
      expect(parsed.kind === 'empty' ? parsed : parsed.envelope).not.toHaveProperty('correlation');
    }
  });
});

describe('a command payload', () => {
  it('that is empty is no command: clearing a retained topic looks like this', () => {
    expect(parse('').kind).toBe('empty');
    expect(parse('', { retained: true }).kind).toBe('empty');
  });

  it('is refused by name of what is wrong, and nothing stops the reader', () => {
    expect(refusalOf(parse(Buffer.from('ffd8ffe000', 'hex')))).toEqual({ code: 'NOT_UTF8' });
    expect(refusalOf(parse('ARM_AWAY'))).toEqual({ code: 'BAD_JSON' });
    expect(refusalOf(parse('[]'))).toEqual({ code: 'BAD_JSON' });
    expect(refusalOf(parse('null'))).toEqual({ code: 'BAD_JSON' });
    expect(refusalOf(parse('x'.repeat(1024 * 1024)))).toEqual({ code: 'TOO_LARGE' });
    expect(refusalOf(parse(body(), { verb: 'explode' }))).toEqual({ code: 'UNKNOWN_VERB' });
    expect(refusalOf(parse(body(), { verb: 'constructor' }))).toEqual({ code: 'UNKNOWN_VERB' });
    expect(refusalOf(parse(body(), { retained: true }))).toEqual({ code: 'RETAINED' });
    expect(refusalOf(parse(body({ partition: 1 })))).toEqual({ code: 'SCHEMA', field: 'partition' });
    expect(refusalOf(parse(body({ expected: { seq: -1 } })))).toEqual({ code: 'SCHEMA', field: 'expected.seq' });
    expect(refusalOf(parse(body({ volume: 3 })))).toEqual({ code: 'SCHEMA', field: 'volume' });
    expect(refusalOf(parse(body({ issued_at: '2026-13-45T99:99:99Z' })))).toEqual({
      code: 'SCHEMA',
      field: 'issued_at',
    });
  });

  it('that breaks a limit of depth or string length is too large, whatever its schema', () => {
    const nest = (depth: number): unknown => (depth === 0 ? 1 : { a: nest(depth - 1) });
    expect(refusalOf(parse(body({ expected: nest(5) })))).toEqual({ code: 'SCHEMA', field: 'expected.a' });
    expect(refusalOf(parse(body({ expected: nest(6) })))).toEqual({ code: 'TOO_LARGE', field: 'expected' });
    expect(refusalOf(parse(`${'{"a":'.repeat(1300)}1${'}'.repeat(1300)}`))).toEqual({ code: 'TOO_LARGE', field: 'a' });
    expect(refusalOf(parse(body({ actor: 'x'.repeat(1025) })))).toEqual({ code: 'TOO_LARGE', field: 'actor' });
  });

  it('needs its code as text: a number has lost its leading zeros', () => {
    const broken = parse(`{"id":"${id}","issued_at":"${at}","partition":"p1","code":0012}`);
    expect(broken).toMatchObject({ kind: 'refused', refusal: { code: 'BAD_JSON' }, envelope: { id } });
    expect(refusalOf(parse(body({ code: 12 })))).toEqual({ code: 'SCHEMA', field: 'code' });
    expect(commandOf(parse(body({ code: '0012' }))).code).toBe('0012');
  });

  it('never gives digits back in the name of a wrong member', () => {
    expect(refusalOf(parse(body({ '4827': true })))).toEqual({ code: 'SCHEMA', field: 'body' });
  });

  it('gives the code apart and a hash that knows nothing of it', () => {
    const right = commandOf(parse(body({ code: '48270391' })));
    const other = commandOf(parse(body({ code: '9999' })));
    expect(JSON.stringify(right.body)).not.toContain('48270391');
    expect(other.bodyHash).toBe(right.bodyHash);
    expect(commandOf(parse(body())).bodyHash).toBe(right.bodyHash);
    expect(commandOf(parse(body({ partition: 'p2' }))).bodyHash).not.toBe(right.bodyHash);
  });

  it('hashes equal in whatever order its members come', () => {
    const swapped = `{"partition":"p1","issued_at":"${at}","id":"${id}"}`;
    expect(commandOf(parse(swapped)).bodyHash).toBe(commandOf(parse(body())).bodyHash);
  });

  it('takes id, address and expiry from MQTT 5 where the body has none', () => {
    const parsed = parse(`{"issued_at":"${at}","partition":"p1"}`, { userId: id, responseTopic: 'a/b', expiryS: 9 });
    expect(parsed.kind === 'command' && parsed.envelope).toEqual({ id, replyTo: 'a/b' });
    expect(commandOf(parsed).expiresAt).toBe(wall + 9000);
    const earlier = parse(body({ expires_at: '2026-11-27T20:00:03Z' }), { expiryS: 9 });
    expect(commandOf(earlier).expiresAt).toBe(wall + 3000);
  });

  it('of any bytes ends in an answer, never in an exception', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), fc.json().map(Buffer.from)), (payload) => {
        expect(['empty', 'refused', 'command']).toContain(parse(payload).kind);
      }),
    );
  });
});
