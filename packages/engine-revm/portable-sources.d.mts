export declare const SECTION: string
export declare function sourcesHash(): string
