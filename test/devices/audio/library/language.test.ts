import { expect, it } from 'vitest';
import { otherLanguages } from '#devices/audio/library/language.ts';

it.each([
  ['alarm.intruder', 'de-DE', ['alarm.intruder.de', 'alarm.intruder.en']],
  ['alarm.intruder', undefined, ['alarm.intruder.en']],
  ['alarm.intruder.fr', 'de-DE', ['alarm.intruder.de', 'alarm.intruder.en']],
  ['alarm.intruder.fr', 'en-GB', ['alarm.intruder.en']],
  ['alarm.intruder.de', 'de-DE', ['alarm.intruder.en']],
  ['alarm.intruder.en', undefined, []],
])('%s at a site of %s is looked for as %j, too', (key, language, others) => {
  expect(otherLanguages(key, language)).toEqual(others);
});
