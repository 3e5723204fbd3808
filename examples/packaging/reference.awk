# Prepares a header for Doxygen: of all that comes before the bodies, prints every public declaration after the comment
# above it, which becomes a page of its own. MIT licence, see LICENSE.
# usage: awk -f reference.awk HEADER
# - Declarations that follow one comment without a blank line share its page.
# - A comment that stands alone also describes the declarations after it, up to the next blank line.
# - Left out are private names, macros of linkage, and conditionals.

function escaped(s) {
    gsub(/[\\@&#<>%$]/, "\\\\&", s)
    return s
}

# Whether a comment's line begins a new paragraph: the line before could have taken its first word, or it begins with
# the name of an argument or with errors.
function is_deliberate(before, line,    word) {
    word = line
    sub(/ .*/, "", word)
    return before ~ /[.:]$/ && line !~ /^ / && (length(before) + length(word) + 4 <= 96 ||
        line ~ /^(Errors|REDIST_ERR_)/ || line ~ argument)
}

# The lines of a comment as paragraphs; what is indented after an empty line stays as it is.
function described(text,    line, n, k, out, verbatim, s) {
    n = split(text, line, "\n")
    for (k = 1; k <= n; k++) {
        if (line[k] ~ /^    / && (verbatim || line[k - 1] == "")) {
            if (!verbatim) out = out "\n@verbatim"
            verbatim = 1
            out = out "\n" line[k]
            continue
        }
        if (verbatim && line[k] != "") { out = out "\n@endverbatim\n"; verbatim = 0 }
        else if (verbatim) { out = out "\n"; continue }
        if (k > 1 && is_deliberate(line[k - 1], line[k])) out = out "\n"
        s = escaped(line[k])
        sub(/^ +/, "", s)
        if (line[k] ~ argument) sub(/^[^:]*:/, "<b>&</b>", s)
        out = out "\n" s
    }
    return out (verbatim ? "\n@endverbatim" : "")
}

# The first sentence of a text, or all of it. "..." ends none.
function sentence(text) {
    sub(/\n\n.*/, "", text)
    gsub(/\n */, " ", text)
    return match(text, /[^.]\.( |$)/) ? substr(text, 1, RSTART + 1) : text
}

function in_section() { return section == "" ? "" : "@ingroup " section "\n" }

function end_page() {
    if (page != "") print "/** @} */"
    page = ""
}

function begin_page(name,    text) {
    end_page()
    page = name
    text = described(pending)
    print "/** @defgroup " name " " name "\n" in_section() "\n"
    if (around != "") text = text "\n" described(around)
    print text "\n\nDeclared in " header ".\n@{ */"
}

# A comment inside a struct or an enumeration, after a member or before it.
function members(code,    out, at, text, tail, line, behind) {
    out = ""
    while ((at = index(code, "/*")) > 0) {
        tail = substr(code, at)
        text = substr(tail, 4, index(tail, "*/") - 5)
        gsub(/\n */, " ", text)
        line = substr(code, 1, at - 1)
        behind = line !~ /\n *$/
        out = out line "/**" (behind ? "<" : "") " " escaped(text) " */"
        code = substr(tail, index(tail, "*/") + 2)
    }
    return out code
}

function name_of(code,    s) {
    s = code
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", s)
    if (s ~ /^#define/) { sub(/^#define +/, "", s); sub(/[^A-Za-z0-9_].*/, "", s); return s }
    if (s ~ /^typedef/ && s !~ /\)[ \n]*;[ \n]*$/) { sub(/[ \n]*;[ \n]*$/, "", s); sub(/.*[^A-Za-z0-9_]/, "", s); return s }
    sub(/\(.*/, "", s)
    sub(/.*[^A-Za-z0-9_]/, "", s)
    return s
}

# A whole declaration or definition.
function declare(code,    name) {
    name = name_of(code)
    if (code ~ /^#define REDIST_PRIV_ERRORS/) { errors = code; errors_text = pending }
    if (is_left_out(name, code)) {
        pending = ""
        end_page()
        return
    }
    if (code ~ /^#define/ && match(code, /\/\*.*\*\//)) { # the comment behind it
        pending = substr(code, RSTART + 3, RLENGTH - 6)
        code = substr(code, 1, RSTART - 1)
    }
    if (code ~ /REDIST_PRIV_ERRORS/) { code = enumerated(errors, name); pending = errors_text }
    sub(/^REDIST_(API|AXIS_API|PRIV_BUILDER|PRIV_AXIS_BUILDER) /, "", code)
    if (pending == "" && page == "") pending = shared
    shared = pending != "" ? pending : shared
    if (code ~ /^typedef (struct|union) *\{/) { # has a page of its own
        end_page()
        print "/** " in_section() described(pending) " */\n" members(code)
    } else {
        if (pending != "" || page == "") begin_page(name)
        if (shared != "") print "/** @brief " escaped(sentence(shared)) " */"
        print members(code)
    }
    pending = ""
}

function is_left_out(name, code) {
    return code ~ /^enum/ || name !~ /^(redist|REDIST)_/ || tolower(name) ~ /^redist_priv(_|$)/ ||
        name ~ /^REDIST_((PLAN_)?H|(AXIS_)?API|NO_[A-Z]+)$/ || code ~ /^#define redist_/
}

# The table of errors, X(NAME, "sentence"), as an enumeration.
function enumerated(table, name,    out, entry) {
    while (match(table, /X\([A-Z_]+,[^"]*"[^"]*"\)/)) {
        entry = substr(table, RSTART + 2, RLENGTH - 3)
        table = substr(table, RSTART + RLENGTH)
        sub(/,[^"]*"/, ", /* ", entry)
        sub(/"$/, " */", entry)
        out = out "\n    " entry
    }
    return "typedef enum {" out "\n} " name ";"
}

BEGIN { argument = "^\\*?[a-z_]+(\\[[^]]*\\])?(, \\*?[a-z_]+(\\[[^]]*\\])?)*: " }

/^\/\* =====/ { exit }
FNR == 1 { header = FILENAME; sub(/.*\//, "", header) }
/^\/\* -----/ { # a section
    end_page()
    sub(/^\/\* -+ /, "")
    sub(/ \*\/$/, "")
    section = header "_" ++sections
    gsub(/[^a-z0-9]/, "_", section)
    print "/** @defgroup " section " " header ": " escaped($0) " */"
    pending = around = ""
    next
}
code == "" && (comment || /^\/\*/) {
    if (!comment) { text = ""; comment = 1; sub(/^\/\*/, "  ") } 
    if (/\*\//) { comment = 0; sub(/ *\*\/.*/, "") }
    sub(/^( \* ?|   )/, "")
    text = text (text == "" ? "" : "\n") $0
    if (!comment) {
        if (!opened) { # of the file
            opened = 1
            sub(/\nMap: .*\n    [^\n]*(\n\n|$)/, "\n", text) # of the source
            print "/** @file " header "\n\n" described(text) "\n*/"
            next
        }
        pending = text
        end_page()
    }
    next
}
code == "" && /^$/ {
    end_page()
    around = pending
    pending = shared = ""
    next
}
code == "" && (/^#(if|ifdef|ifndef|elif|else|endif|error|include|undef)/ || /^extern "C"/ || skipping) {
    skipping = /\\$/ || /^#error *$/
    if (/^#(if|elif)/) pending = ""
    next
}
{
    code = code (code == "" ? "" : "\n") $0
    if (code ~ /^#define/ ? !/\\$/ : /;( *\/\*.*\*\/)?$/ && code !~ /\{[^}]*$/) { declare(code); code = "" }
}
END { end_page() }
