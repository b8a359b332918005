import { expect, it } from 'vitest';
import { audioMessage, languageTag, messageOnWire } from '#cloud/contract/index.ts';
import type { AudioMessageShown } from '#site/model/index.ts';

it.each([
  ['de-DE', 'de-DE'],
  ['de', 'de-DE'],
  ['en', 'en-US'],
  ['en_gb', 'en-GB'],
  [' PT-br ', 'pt-BR'],
  ['zh-Hans', 'zh-CN'],
])('a language is brought into the form of the service: %s', (given, tag) => {
  expect(languageTag(given)).toBe(tag);
});

it.each(['zxx', 'und', '', '-', 'de-', 'german', 'x'.repeat(100_000), 'es-419', 'zz', '\u202e'])(
  'what is none is none: %j',
  (given) => {
    expect(languageTag(given)).toBeUndefined();
  },
);

const tone: AudioMessageShown = {
  ...{ audio_message_id: 'alarm.siren', key: 'alarm.siren', name: 'Siren', description: '', duration_seconds: 3 },
  ...{ language: 'zxx', category: 'alarm', source: 'builtin', sha256: 'a'.repeat(64), loudness_lufs: -4 },
};

it('a message goes onto the wire with its six members, and where nobody speaks with the language of the site', () => {
  const wire = { audio_message_id: 'alarm.siren', name: 'Siren', description: '', duration_seconds: 3 };
  expect(messageOnWire(tone, 'de-DE')).toEqual({ ...wire, language: 'de-DE', category: 'alarm' });
  expect(messageOnWire(tone)).toEqual({ ...wire, language: 'en-US', category: 'alarm' });
  expect(messageOnWire({ ...tone, language: 'fr-FR' }, 'de-DE').language).toBe('fr-FR');
  expect(audioMessage.strict().safeParse(messageOnWire(tone)).success).toBe(true);
});
