export * from './sender.ts';
