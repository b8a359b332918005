/** The end of a key that says a language, as in `alarm.intruder.en`. */
const languageEnd = /\.([a-z]{2})$/;

/**
 * Keys of the same message in the languages it may be said in: the one that was asked for, that of the site, English. The key
 * that was asked for is not among them.
 */
export function otherLanguages(key: string, siteLanguage = ''): string[] {
  const asked = languageEnd.exec(key)?.[1];
  const base = asked === undefined ? key : key.replace(languageEnd, '');
  const languages = [asked, siteLanguage.slice(0, 2), 'en'].filter((one) => one !== undefined && one !== '');
  return [...new Set(languages.map((language) => `${base}.${language}`))].filter((other) => other !== key);
}
