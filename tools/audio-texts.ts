import type { AudioCategory } from '#site/model/index.ts';

/** What is heard before the words. */
export type Attention = 'siren' | 'chime' | 'ding' | 'none';

interface Words {
  readonly name: string;
  readonly text: string;
}

/** A voice of espeak-ng for each language; a draft was not yet checked by anybody who speaks it. */
export const languages = {
  en: { tag: 'en-US', voice: 'en-us', draft: false },
  de: { tag: 'de-DE', voice: 'de', draft: true },
} as const;
export type Language = keyof typeof languages;

/**
 * The spoken messages that siteward brings along. They hold what is true at any site that plays them: none claims that somebody
 * is coming, and none tells the arming state (safety 9).
 */
export const spoken: readonly (Readonly<Record<Language, Words>> & {
  readonly key: string;
  readonly category: AudioCategory;
  readonly before: Attention;
})[] = [
  {
    key: 'alarm.intruder',
    category: 'alarm',
    before: 'siren',
    en: { name: 'Intruder', text: 'Attention! You have been detected. Leave the premises immediately.' },
    de: { name: 'Eindringling', text: 'Achtung! Sie wurden erkannt. Verlassen Sie sofort das Gelände.' },
  },
  {
    key: 'alarm.evacuate',
    category: 'alarm',
    before: 'siren',
    en: {
      name: 'Evacuation',
      text: 'Attention please! Leave the building now, by the nearest exit. Do not use the lifts.',
    },
    de: {
      name: 'Räumung',
      text: 'Achtung, bitte! Verlassen Sie jetzt das Gebäude durch den nächsten Ausgang. Benutzen Sie keine Aufzüge.',
    },
  },
  {
    key: 'announcement.private',
    category: 'announcement',
    before: 'chime',
    en: {
      name: 'Private area',
      text: 'Attention please. This is a private area. Please leave, or report to the reception.',
    },
    de: {
      name: 'Privatgelände',
      text: 'Achtung, bitte. Dies ist ein Privatgelände. Bitte gehen Sie, oder melden Sie sich am Empfang.',
    },
  },
  {
    key: 'announcement.closing',
    category: 'announcement',
    before: 'chime',
    en: { name: 'Closing', text: 'Attention please. We close in fifteen minutes.' },
    de: { name: 'Schließung', text: 'Achtung, bitte. Wir schließen in fünfzehn Minuten.' },
  },
  {
    key: 'test.message',
    category: 'test',
    before: 'none',
    en: { name: 'Test', text: 'This is a test of the speakers. Nothing needs to be done.' },
    de: { name: 'Test', text: 'Dies ist ein Test der Lautsprecher. Es ist nichts zu tun.' },
  },
  {
    key: 'greeting.welcome',
    category: 'greeting',
    before: 'ding',
    en: { name: 'Welcome', text: 'Welcome. Please report to the reception.' },
    de: { name: 'Willkommen', text: 'Willkommen. Bitte melden Sie sich am Empfang.' },
  },
  {
    key: 'reminder.door',
    category: 'reminder',
    before: 'chime',
    en: { name: 'Door', text: 'A reminder. Please close the door.' },
    de: { name: 'Tür', text: 'Zur Erinnerung. Bitte schließen Sie die Tür.' },
  },
];
