export { type Found, matchCatalogue } from './catalogue.ts';
export { otherLanguages } from './language.ts';
export type { Library } from './library.ts';
export type { Message } from './message.ts';
export { createShelf } from './shelf.ts';
