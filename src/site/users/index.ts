export { scryptHash } from './hashing.ts';
export {
  type Codes,
  type CodeVerdict,
  type ConfiguredUser,
  type ListedUser,
  maxUsers,
  type NewCodes,
  type NewUser,
  type UserRecord,
  type Users,
} from './types.ts';
export { createUsers, type UsersOptions } from './users.ts';
