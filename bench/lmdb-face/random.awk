# Lines of library, workload, work and figure, separated by tabs: a markdown table of how the ratios of the best figures of both libraries
# are spread over the workloads, in brackets which one it was; and what these are.
$3 ~ /^#/ { shape[$2 + 0] = substr($3, 3); next }
{
    if (!($3 in seen)) { seen[$3] = 1; order[++kinds] = $3 }
    if (!(($3, $2) in known)) { known[$3, $2] = 1; workload[$3, ++count[$3]] = $2 }
    if ($4 + 0 > best[$1, $3, $2]) best[$1, $3, $2] = $4 + 0
}
END {
    print "| work | workloads | the least | a quarter below | half below | three quarters below | the most |\n|---|---:|---:|---:|---:|---:|---:|"
    for (i = 1; i <= kinds; i++) {
        kind = order[i]; n = 0
        for (j = 1; j <= count[kind]; j++) {
            w = workload[kind, j]
            # Where one of them has crashed there is nothing to compare.
            if (!(best["Duramen", kind, w] && best["LMDB", kind, w])) continue
            ratio = best["Duramen", kind, w] / best["LMDB", kind, w]
            for (k = ++n; k > 1 && sorted[k - 1] > ratio; k--) { sorted[k] = sorted[k - 1]; at[k] = at[k - 1] }
            sorted[k] = ratio; at[k] = w
        }
        printf "| %s | %d | %.2f (%s) | %.2f | %.2f | %.2f | %.2f (%s) |\n", kind, n, sorted[1], at[1], sorted[int((n + 3) / 4)], sorted[int((n + 1) / 2)], sorted[int((3 * n + 3) / 4)], sorted[n], at[n]
    }
    print ""
    for (seed in shape) print seed ": " shape[seed] | "sort -n"
}
