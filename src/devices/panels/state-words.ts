/**
 * Words bridges have for doors and arming, in the languages panels are sold in. They only tell which of the values that went
 * along with a door or an arming is the likeliest; what a value means is what was done when it came.
 */

/** Open and closed. */
export const doorWords: readonly (readonly [open: string, closed: string])[] = [
  ['true', 'false'],
  ['on', 'off'],
  ['1', '0'],
  ['yes', 'no'],
  ['active', 'inactive'],
  ['violated', 'normal'],
  ['open', 'closed'],
  ['open', 'close'],
  ['opened', 'closed'],
  ['offen', 'zu'],
  ['offen', 'geschlossen'],
  ['auf', 'zu'],
  ['ouvert', 'fermé'],
  ['ouverte', 'fermée'],
  ['ouvert', 'ferme'],
  ['abierto', 'cerrado'],
  ['abierta', 'cerrada'],
  ['aperto', 'chiuso'],
  ['aperta', 'chiusa'],
  ['open', 'dicht'],
  ['open', 'gesloten'],
];

/** Parts of words. */
export const openWord = /open|violat|active|offen|ouvert|abiert|apert/i;
export const armedWord = /arm|away|stay|set|full|scharf|armé|activé|activad|conectad|armad|inserit|attiv|ingeschakeld/i;
export const disarmedWord =
  /disarm|unset|off|ready|unscharf|désarm|desarm|désactiv|desactiv|desconect|disinserit|disattiv|uitgeschakeld/i;
/** The exit delay: what is said then is not yet what an armed partition says. */
export const exitWord = /arming|exit|pending|delay|ausgang|verzöger|sortie|salida|uscita|ritard|uitloop|vertrag/i;
/** Beside a door: what is not its being open. */
export const asideOfDoor =
  /tamper|alarm|battery|ready|trouble|memory|last|time|sabotage|manomiss|batterie|accu|störung|guasto/i;
