import de from './texts/de.json' with { type: 'json' };
import en from './texts/en.json' with { type: 'json' };

export type TextKey = keyof typeof en;
type Texts = Readonly<Record<string, string>>;

/** All have the same keys (a test); the English text stands in for one that is missing all the same. */
const languages: Readonly<Record<string, Texts>> = { en, de };
export const languageNames: Readonly<Record<string, string>> = { en: 'English', de: 'Deutsch (Entwurf)' };

/** Words of the API that have texts: `KIND.value`. Each is told from its list in a test, so that a new one has its text. */
export type WordKind =
  | 'arming'
  | 'category'
  | 'class'
  | 'clock'
  | 'delivery'
  | 'deviceRemedy'
  | 'event'
  | 'kind'
  | 'lane'
  | 'level'
  | 'link'
  | 'media'
  | 'mediaState'
  | 'mode'
  | 'outcome'
  | 'pending.section'
  | 'field'
  | 'pictures'
  | 'bundle'
  | 'playback'
  | 'problem'
  | 'remedy'
  | 'reply'
  | 'report.part'
  | 'role'
  | 'roleMay'
  | 'secret'
  | 'setup.camera'
  | 'setup.cloud'
  | 'setup.site'
  | 'status'
  | 'theme'
  | 'user'
  | 'zoneType';

export interface Words {
  readonly language: string;
  /** `{name}` in a text is replaced; where `count` is given, `KEY.one` and `KEY.other` go before `KEY`. */
  t(key: TextKey, values?: Readonly<Record<string, string | number>>): string;
  /** The text of a word of the API, such as a state; the word itself where there is none. */
  word(kind: WordKind, value: string): string;
  /** The text of a word of the API where there is one. */
  known(kind: WordKind, value: string): string | undefined;
  /** Date and time in the words of the language, by the zone of this phone; where the site has another time, that too. */
  time(iso: string): string;
  clock(iso: string): string;
  /** Hours and minutes alone, by the zone of this phone. */
  hour(at: number): string;
  number(value: number): string;
}

/** `siteZone`: time zone of the site, where it is known. */
export function wordsOf(language: string, siteZone?: string): Words {
  const texts: Texts = languages[language] ?? en;
  // Each is made when it is first needed: together they cost a phone a tenth of a second before anything is shown.
  const plural = once(() => new Intl.PluralRules(language));
  const date = once(() => new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' }));
  const short = once(() => new Intl.DateTimeFormat(language, { timeStyle: 'medium' }));
  const hours = once(() => new Intl.DateTimeFormat(language, { timeStyle: 'short' }));
  const atSite = once(() => siteClock(language, siteZone));
  const numbers = once(() => new Intl.NumberFormat(language));
  const find = (key: string): string | undefined => texts[key] ?? (en as Texts)[key];
  const t: Words['t'] = (key, values = {}) => {
    const { count } = values;
    const form = typeof count === 'number' ? find(`${key}.${plural().select(count)}`) : undefined;
    const text = form ?? find(key) ?? key;
    return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => shown(values[name] ?? whole));
  };
  const shown = (value: string | number): string =>
    typeof value === 'number' ? numbers().format(value) : isolated(value);
  const withSite = (iso: string, here: string): string => {
    const there = atSite()?.(iso);
    return there === undefined || there === hours().format(new Date(iso))
      ? here
      : `${here} (${t('atSite', { time: there })})`;
  };
  return {
    language,
    t,
    word: (kind, value) => find(`${kind}.${value}`) ?? value.replaceAll('_', ' '),
    known: (kind, value) => find(`${kind}.${value}`),
    time: (iso) => withSite(iso, date().format(new Date(iso))),
    clock: (iso) => short().format(new Date(iso)),
    hour: (at) => hours().format(new Date(at)),
    number: (value) => numbers().format(value),
  };
}

const turnsRound = /\p{Bidi_Control}/gu;
const fromTheRight =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** A name as it may stand in a sentence: it turns nothing round but itself, as with `bdi`. One that is so already stays. */
export function isolated(name: string): string {
  if (
    /^[^\p{Bidi_Control}]*(?:\u2068[^\p{Bidi_Control}]*\u2069[^\p{Bidi_Control}]*)*$/u.test(name) &&
    name.includes('\u2068')
  )
    return name;
  const plain = name.replaceAll(turnsRound, '');
  return fromTheRight.test(plain) ? `\u2068${plain}\u2069` : plain;
}

/** What `make` makes, from the first time that it is asked for. */
function once<T>(make: () => T): () => T {
  let made: { readonly it: T } | undefined;
  return () => {
    made ??= { it: make() };
    return made.it;
  };
}

/** Undefined for the zone of this phone, and for one that its browser does not know. */
function siteClock(language: string, timeZone: string | undefined): ((iso: string) => string) | undefined {
  if (timeZone === undefined || timeZone === Intl.DateTimeFormat().resolvedOptions().timeZone) return undefined;
  try {
    const format = new Intl.DateTimeFormat(language, { timeStyle: 'short', timeZone });
    return (iso) => format.format(new Date(iso));
  } catch {
    return undefined;
  }
}

/** The first of the browser's languages that there is. */
export function preferredLanguage(wanted: readonly string[], kept: string | null): string {
  const known = [kept ?? '', ...wanted.map((tag) => tag.split('-')[0] ?? '')];
  return known.find((language) => Object.hasOwn(languages, language)) ?? 'en';
}
