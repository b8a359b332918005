/**
 * Words that people take for a password, in the languages the product speaks and of the trade; written by hand. With what
 * people put around them, spell them with and string together they are the list, see `isCommon`.
 */
const words: ReadonlySet<string> = new Set(
  `
  password passwort passwd pass kennwort geheim geheimnis secret contrasena clave motdepasse parola admin administrator
  root user guest gast test tester testing demo default login welcome willkommen bienvenido bienvenue hello hallo hola bonjour
  letmein open sesame change changeme please bitte master superuser service support system server computer internet network
  router gateway bridge camera kamera alarm alarma alarme alarmanlage siren panel keypad security sicherheit seguridad
  securite siteward site guard wache installer installateur technician techniker operator owner viewer manager chef boss
  office buero firma company shop store laden home house haus casa maison garage door tuer zone arm disarm monitor central
  zentrale video onvif nvr dvr sunshine princess dragon monkey football fussball futbol soccer baseball basketball hockey
  superman batman starwars pokemon shadow summer sommer winter spring herbst autumn verano invierno printemps january
  january februar february march april juni june juli july august september oktober october november december dezember
  monday montag friday freitag sunday sonntag love liebe amor amour iloveyou teamo jetaime schatz angel engel baby family
  familie familia freedom forever whatever trustno nothing money lucky flower blume happy killer hunter ranger phoenix
  mustang ferrari porsche mercedes harley yamaha toyota google facebook apple samsung iphone windows linux
  michael michelle jessica jennifer daniel thomas andreas alexander charlie jordan maria anna peter paul martin stefan
  berlin hamburg muenchen wien zuerich london paris madrid barcelona america germany deutschland espana france
  abc abcd qwe qwer asd asdf zxc zxcv yxc yxcv wasd qaz wsx edc the my is in im ich bin mein for me you
  `
    .trim()
    .split(/\s+/),
);

/** As they lie side by side, and counted up. */
const rows: readonly string[] = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiop',
  'qwertzuiopü',
  'asdfghjklöä',
  'asdfghjkl;',
  'zxcvbnm,./',
  'yxcvbnm,.-',
  'azertyuiop',
  'qsdfghjklm',
  '1qaz2wsx3edc4rfv5tgb6zhn7ujm',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm',
  'qazwsxedcrfvtgbyhnujm',
  '1q2w3e4r5t6z7u8i9o0p',
  '1q2w3e4r5t6y7u8i9o0p',
];

/** Whether a password is among those that are tried first. `own`: words about whoever has it. */
export function isCommon(password: string, own: readonly string[] = []): boolean {
  const small = password.toLowerCase();
  const other = new Set(own.map(bare).filter((word) => word.length > 2));
  // How many of the signs at the end stand for letters nobody can say: "w3lc0m3", "w3lc0m31".
  const read = [0, 1, 2].map((more) => unspelled(small, more));
  return [small, ...read].some((text) => isMonotone(text) || isMadeOf(text, other));
}

/** A few characters over and over, or a piece of a row, there or back, perhaps twice. */
function isMonotone(text: string): boolean {
  if (new Set(text).size <= 3) return true;
  const block = /^(.+?)\1+$/s.exec(text)?.[1] ?? text;
  return block.length <= 4 && block !== text ? true : isOfRows(block);
}

/** All of it in pieces from rows. */
const isOfRows = (text: string): boolean => covered(text, isOfRow);

/** At most three words, and between and around them nothing but digits, signs and pieces of rows. */
function isMadeOf(text: string, own: ReadonlySet<string>): boolean {
  const letters = bare(text);
  if (letters.length < 3) return true;
  return covered(letters, (piece) => words.has(piece) || own.has(piece) || isOfRow(piece), 3);
}

const isOfRow = (piece: string): boolean =>
  piece.length > 2 && rows.some((row) => row.includes(piece) || backwards(row).includes(piece));

/** Whether a text falls into at most so many pieces that fit. */
function covered(text: string, fits: (piece: string) => boolean, most = 4): boolean {
  if (text === '') return true;
  if (most === 0) return false;
  for (let end = text.length; end > 0; end -= 1)
    if (fits(text.slice(0, end)) && covered(text.slice(end), fits, most - 1)) return true;
  return false;
}

/** Letters, and pictures, which nobody tries first. */
const bare = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{So}]/gu, '');
const backwards = (text: string): string => [...text].reverse().join('');

const spellings: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '8': 'b',
  '@': 'a',
  $: 's',
  '!': 'i',
  '€': 'e',
  ä: 'ae',
  ö: 'oe',
  ü: 'ue',
  ß: 'ss',
  ñ: 'n',
  é: 'e',
};

/** Digits and signs that stand for letters, as far as the last letter and so many more; the rest is an ending. */
function unspelled(text: string, more: number): string {
  const end = (/[^\p{L}]*$/u.exec(text)?.index ?? text.length) + more;
  return [...text.slice(0, end)].map((character) => spellings[character] ?? character).join('') + text.slice(end);
}
