export { ack, clockBounds, duh, isTimely, nak } from './answer.ts';
export { accountIn, parseReports, type Report } from './body.ts';
export { decrypt, encrypt, keysOf } from './cipher.ts';
export {
  type Content,
  createSplitter,
  enclose,
  type Frame,
  frameCap,
  parseContent,
  parseFrame,
  timestamp,
} from './frame.ts';
