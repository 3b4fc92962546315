# Lines of library, work and figure, separated by tabs: a markdown table of the medians of both libraries, and their
# ratios.
{ if (!($2 in seen)) { seen[$2] = 1; order[++kinds] = $2 } n[$1, $2]++; value[$1, $2, n[$1, $2]] = $3 + 0 }
function median(library, kind,   count, i, j, t, sorted) {
    count = n[library, kind]
    for (i = 1; i <= count; i++) sorted[i] = value[library, kind, i]
    for (i = 2; i <= count; i++) for (j = i; j > 1 && sorted[j] < sorted[j - 1]; j--) {
        t = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = t
    }
    return count % 2 ? sorted[(count + 1) / 2] : (sorted[count / 2] + sorted[count / 2 + 1]) / 2
}
END {
    print "| work | LMDB /s | Duramen /s | ratio |\n|---|---:|---:|---:|"
    for (i = 1; i <= kinds; i++) {
        a = median("LMDB", order[i]); b = median("Duramen", order[i])
        printf "| %s | %d | %d | %.2f |\n", order[i], a, b, b / a
    }
}
