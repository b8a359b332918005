export type { Loaded } from './builtin.ts';
export { type Catalogue, type CloudMessage, type Found, matchCatalogue } from './catalogue.ts';
export { createDecoder, type Decoder } from './decode.ts';
export { otherLanguages } from './language.ts';
export type { ImportRequest, Library } from './library.ts';
export { limits } from './limits.ts';
export type { ChangeFields, ImportFields, Message } from './message.ts';
export { createShelf } from './shelf.ts';
