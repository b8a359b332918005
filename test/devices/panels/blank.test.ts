import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blanked, compileProfile } from '#devices/panels/index.ts';
import { compilePreset } from './helpers.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const withMode = (mode: string) =>
  compileProfile({
    ...{ id: 'x', title: 'X', version: 1, hardware: [], vars: { b: 'x' }, code: { mode } },
    caps: ['disarm'],
    out: { disarm: { topic: '$b/cmd', payload: mode === 'none' ? 'off' : 'off {code}' } },
    identity: { partition: 'number', zone: 'number' },
    in: [
      { topic: '$b/text', read: [{ for: 'partition', key: '1', set: 'state' }] },
      { topic: '$b/json', read: [{ for: 'partition', key: '1', at: '/state', set: 'state' }] },
    ],
  });

describe('a payload for people', () => {
  it('is shown to the letter where it holds no secret', () => {
    const text = '{ "contact": false, "battery": 97, "voltage": 2995 }';
    expect(blanked(compilePreset('zigbee2mqtt'), 'zigbee2mqtt/door', bytes(text))).toBe(text);
    expect(blanked(compilePreset('pai'), 'paradox/states/zones/A/open', bytes('True'))).toBe('True');
  });

  it('loses what the profile masks, and a payload that is nothing but a code', () => {
    const keypad = '{"action":"disarm","action_code":"ab"}';
    expect(blanked(compilePreset('zigbee2mqtt'), 'zigbee2mqtt/k', bytes(keypad))).toBe(
      '{"action":"disarm","action_code":"***"}',
    );
    expect(blanked(compilePreset('pai'), 'paradox/states/zones/A/open', bytes('4827'))).toBe('***');
  });

  it('keeps a code of letters, such as a SIA code, and loses tokens whatever they are', () => {
    const text = '{"state":"disarmed","code":"OP","sessionToken":"abc","session_token":"def","nested":[{"pin":4827}]}';
    expect(blanked(withMode('none'), 'x/json', bytes(text))).toBe(
      '{"state":"disarmed","code":"OP","sessionToken":"***","session_token":"***","nested":[{"pin":"***"}]}',
    );
  });

  it.each(['keys', 'in-payload', 'in-payload-disarm'])('loses every row of digits with code mode %s', (mode) => {
    expect(blanked(withMode(mode), 'x/text', bytes('keys 48271#'))).toBe('keys ***#');
    expect(blanked(withMode(mode), 'x/json', bytes('{"state":"disarmed","last":"4827 by A","n":48271}'))).toBe(
      '{"state":"disarmed","last":"*** by A","n":"***"}',
    );
  });

  it('is undefined when it is no text, too large or nested beyond reason', () => {
    expect(blanked(undefined, 'x', new Uint8Array([0xff, 0xfe]))).toBeUndefined();
    expect(blanked(undefined, 'x', bytes('x'.repeat(70_000)))).toBeUndefined();
    expect(() => blanked(undefined, 'x', bytes(`${'['.repeat(30_000)}${']'.repeat(30_000)}`))).not.toThrow();
  });

  it('never holds a code of 4 to 8 digits on a topic that no profile knows', () => {
    const code = fc.integer({ min: 1000, max: 99_999_999 }).map(String);
    const shape = fc.constantFrom<(code: string) => unknown>(
      (text) => text,
      (text) => ({ keys: text }),
      (text) => ({ a: [{ b: Number(text) }] }),
      (text) => `code=${text}!`,
      (text) => ({ action: `disarm ${text}`, code: text }),
    );
    fc.assert(
      fc.property(code, shape, (text, wrap) => {
        const value = wrap(text);
        const shown = blanked(undefined, 'any', bytes(typeof value === 'string' ? value : JSON.stringify(value)));
        expect(shown).not.toContain(text);
      }),
    );
  });
});
