export declare const pageAliases: { find: RegExp; replacement: string }[]
