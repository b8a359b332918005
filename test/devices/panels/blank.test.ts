import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blanked, compileProfile } from '#devices/panels/index.ts';
import { compilePreset } from './helpers.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const withMode = (mode: string) =>
  compileProfile({
    ...{ id: 'x', title: 'X', version: 1, hardware: [], vars: { b: 'x' }, code: { mode } },
    caps: ['disarm'],
    out: { disarm: { topic: '$b/cmd', payload: mode === 'none' || mode === 'in-bridge' ? 'off' : 'off {code}' } },
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

  // `panel new` writes mode none, and a bridge tells what people type all the same.
  it.each<[string, string]>([
    ['{"codes":["4711","0815"]}', '{"codes":"***"}'],
    ['{"code1":"4711","user_code_2":"4712"}', '{"code1":"***","user_code_2":"***"}'],
    ['{"pins":{"anna":"4711"}}', '{"pins":"***"}'],
    ['{"a":[{"b":{"accessCodeEntered":"abcd"}}]}', '{"a":[{"b":{"accessCodeEntered":"***"}}]}'],
    ['{"kennzahl":4711,"eingabe":"4711"}', '{"kennzahl":"***","eingabe":"***"}'],
    ['{"keypad":"keys:4711#","last":"4711"}', '{"keypad":"***","last":"***"}'],
    ['{"PASSWORD":"x","apiKey":"y","clientSecret":"z"}', '{"PASSWORD":"***","apiKey":"***","clientSecret":"***"}'],
    ['{"raw":"{\\"pin\\":\\"4711\\",\\"a\\":1}"}', '{"raw":"{\\"pin\\":\\"***\\",\\"a\\":1}"}'],
    ['user entered 4711', 'user entered ***'],
    ['#4711*', '#****'],
    ['pin=ab12 ok', 'pin=*** ok'],
    ['1:4711', '1:***'],
    ['user 1:4711 disarm', 'user 1:*** disarm'],
    ['p1-4711', 'p1-***'],
    ['1.4711', '1.***'],
    ['2026-03-03T4711', '***-03-03T***'],
    ['keys 2 5 8 0 #', 'keys *** #'],
    ['2-5-8-0', '***'],
    ['typed ２５８０', 'typed ***'],
    ['{"typed":["2","5","8","0","#"]}', '{"typed":["***","#"]}'],
    ['{"typed":[2,5,8,0]}', '{"typed":["***"]}'],
    ['{"action":"1:4711"}', '{"action":"1:***"}'],
    // What is shown to the letter.
    ['{"code":"BA","code_arm_required":false}', '{"code":"BA","code_arm_required":false}'],
    [
      '{"ts":"2026-03-03T10:00:00.123456Z","v":"1.202","voltage":2995,"on":["2026-03-03","03.03.2026","10:20:30"]}',
      '{"ts":"2026-03-03T10:00:00.123456Z","v":"1.202","voltage":2995,"on":["2026-03-03","03.03.2026","10:20:30"]}',
    ],
    ['{"ieee":"0x00158d0001234567"}', '{"ieee":"0x00158d0001234567"}'],
    ['192.168.100.1', '192.168.100.1'],
    ['1 2 3', '1 2 3'],
    ['{"open":[1,2,3],"more":["12","13","14","15"]}', '{"open":[1,2,3],"more":["12","13","14","15"]}'],
  ])('with code mode none %s is shown as %s', (given, shown) => {
    for (const mode of ['none', 'in-bridge']) {
      expect(blanked(withMode(mode), /^[{]/.test(given) ? 'x/json' : 'x/text', bytes(given))).toBe(shown);
    }
  });

  it.each([
    '{"code":"s3cr","command_template":"{\\"action\\":\\"{{ action }}\\",\\"session_token\\":\\"tok-Abc-def-XYZ-secret\\"}"}',
    `{"command_template":"{'action':'{{ action }}','session_token':'tok-Abc-def-XYZ-secret'}"}`,
    '{"command_template":"{\\"action\\": {{ action }}, \\"session_token\\": \\"tok-Abc-def-XYZ-secret\\"}"}',
  ])('loses the session token of a Qolsys panel in %s', (text) => {
    const topic = 'homeassistant/alarm_control_panel/qolsys_panel/0/config';
    const shown = blanked(compilePreset('qolsysgw'), topic, bytes(text));
    expect(shown).not.toMatch(/tok-Abc|XYZ|s3cr/);
    expect(shown).toContain('action');
  });

  it.each(['keys', 'in-payload', 'in-payload-disarm'])('loses every row of digits with code mode %s', (mode) => {
    expect(blanked(withMode(mode), 'x/text', bytes('keys 48271#'))).toBe('keys ***#');
    expect(blanked(withMode(mode), 'x/json', bytes('{"state":"disarmed","last":"4827 by A","n":48271}'))).toBe(
      '{"state":"disarmed","last":"*** by A","n":"***"}',
    );
  });

  it('keeps a Contact ID, so that a recording can be tried', () => {
    const text = '{"event_message":"!LRR:005,1,CID_1301,ff"}';
    expect(blanked(withMode('in-payload'), 'x/json', bytes(text))).toBe(text);
    expect(blanked(withMode('in-payload'), 'x/json', bytes('{"m":"CID_4711 CID_13014711"}'))).toBe(
      '{"m":"CID_*** CID_***"}',
    );
  });

  it('is undefined when it is no text, too large or nested beyond reason', () => {
    expect(blanked(undefined, 'x', new Uint8Array([0xff, 0xfe]))).toBeUndefined();
    expect(blanked(undefined, 'x', bytes('x'.repeat(70_000)))).toBeUndefined();
    expect(() => blanked(undefined, 'x', bytes(`${'['.repeat(30_000)}${']'.repeat(30_000)}`))).not.toThrow();
  });

  it('takes no long time for a long text', () => {
    const long = [
      'a'.repeat(60_000),
      '1'.repeat(60_000),
      'pin '.repeat(15_000),
      `pin${' '.repeat(60_000)}`,
      'a='.repeat(30_000),
      '1 '.repeat(30_000),
      '1    2 '.repeat(8000),
    ];
    for (const text of long) expect(blanked(withMode('none'), 'x/text', bytes(text))).toBeDefined();
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

  describe('in any spelling', () => {
    const scripts = ['0123456789', '０１２３４５６７８９', '٠١٢٣٤٥٦٧٨٩', '०१२३४५६७८९', '𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗', '⓪①②③④⑤⑥⑦⑧⑨'].map(
      (all) => [...all],
    );
    const profiles = [undefined, withMode('none'), withMode('in-bridge'), withMode('keys'), withMode('in-payload')];
    const text = fc.record({
      script: fc.constantFrom(...scripts),
      sign: fc.constantFrom('', ' ', '-', '.', ':', ', ', ' - ', '/', '_', '\u200b', '\ufe0f\u20e3', "', '", '\n'),
      wrap: fc.constantFrom<(keys: readonly string[], sign: string) => unknown>(
        (keys, sign) => keys.join(sign),
        (keys, sign) => `Anna typed ${keys.join(sign)} at the door`,
        (keys, sign) => ({ text: `#${keys.join(sign)}*`, ok: true }),
        (keys, sign) => ({ a: [{ b: ['x', keys.join(sign)] }] }),
        (keys) => ({ typed: keys }),
        (keys) => ['A', ...keys, '#'],
        (keys) => ({ typed: keys.map((key) => (/[0-9]/.test(key) ? Number(key) : key)) }),
        (keys) => ({ inner: JSON.stringify({ typed: keys }) }),
      ),
      compiled: fc.constantFrom(...profiles),
      topic: fc.constantFrom('x/text', 'x/json', 'x/other'),
    });
    const said = (
      digits: readonly number[],
      { script, sign, wrap, compiled, topic }: typeof text extends fc.Arbitrary<infer T> ? T : never,
    ) => {
      const value = wrap(
        digits.map((digit) => script[digit] ?? ''),
        sign,
      );
      const given = typeof value === 'string' ? value : JSON.stringify(value);
      return { given, shown: blanked(compiled, topic, bytes(given)) };
    };
    const digits = (minLength: number, maxLength: number) => fc.array(fc.nat(9), { minLength, maxLength });

    it('loses a code', () => {
      fc.assert(
        fc.property(digits(4, 8), text, (code, how) => {
          expect(said(code, how).shown).not.toMatch(/\p{N}/u);
        }),
        { numRuns: 2000 },
      );
    });

    it('keeps what is shorter, to the letter', () => {
      fc.assert(
        fc.property(digits(1, 3), text, (few, how) => {
          const { given, shown } = said(few, how);
          expect(shown).toBe(given.trim());
        }),
      );
    });
  });
});
