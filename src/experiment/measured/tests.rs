//! What is read of tables, and what is refused.

use super::*;
use form::diagnostic::Diagnostics;

/// The table of a text with what is to be said about it, or why it is none.
fn told(text: &str) -> (Option<Measured>, String) {
    let mut diagnostics = Diagnostics::new();
    let source = diagnostics.add_source("t.txt", text);
    let table = text::parse(&mut diagnostics, source, text);
    (table, diagnostics.human())
}

#[track_caller]
fn parsed(text: &str) -> Measured {
    let (table, why) = told(text);
    assert_eq!(why, "");
    table.expect("a table in order")
}

fn numbers(table: &Measured) -> Vec<(u64, Vec<f64>)> {
    let row = |row: &Row| match row.key {
        Key::Number(key) => (key, row.values.clone()),
        Key::Word(_) => panic!("a table of sizes"),
    };
    table.rows.iter().map(row).collect()
}

#[track_caller]
fn wrong(text: &str, says: &str) {
    let (table, why) = told(text);
    assert!(why.contains(says), "{why}");
    assert!(table.is_none());
    assert_eq!(why.matches("error[").count(), 1, "{why}");
}

#[test]
fn columns_and_units_are_those_of_the_heads() {
    let table = "# OSU MPI Multiple Bandwidth / Message Rate Test v7.1\n\
                 # [ pairs: 2 ] [ window size: 64 ]\n\
                 # Size                  MB/s        Messages/s   (window 64)\n\
                 1                       11.40        11400518.01\n\n4  45.42  11354543.86\n";
    let table = parsed(table);
    let title = "OSU MPI Multiple Bandwidth / Message Rate Test v7.1";
    assert_eq!(table.title.as_deref(), Some(title));
    assert_eq!(table.program.map(|program| program.name), Some("osu_mbw_mr"));
    assert_eq!(numbers(&table)[1], (4, vec![45.42, 11_354_543.86]));
    let of = |metric| table.column_of(metric);
    assert_eq!((of("bandwidth"), of("message_rate"), of("latency")), (Some(0), Some(1), None));
    let latency = parsed("# Size   Avg Latency(us)   Min Latency(us)\n8 1.5 1.25\n");
    assert_eq!(latency.column_of("latency"), Some(0));
    let csv = "size,metric,value,unit\n8,avg_latency,1.5,us\n8,min_latency,1.25,us\n";
    assert_eq!(latency.to_csv(), csv);
    let rate = parsed("# Block B  GB/s  Rate (GB/s)\n4 0.5 0.25\n");
    assert_eq!(
        (rate.column_of("bandwidth"), numbers(&rate)),
        (Some(0), vec![(4, vec![500.0, 250.0])])
    );
}

/// Full format, single blanks, tabs, checked data, Windows line ends, a byte-order mark's rest.
#[test]
fn every_form_of_a_table_gives_the_same() {
    let plain = "# OSU MPI Allreduce Latency Test v7.0\n# Size  Avg Latency(us)  Min Latency(us)  \
                 Max Latency(us)  Iterations\n4  3.33  3.1  3.6  1000\n8  3.4  3.2  3.7  1000\n";
    let table = parsed(plain);
    assert_eq!(table.columns.len(), 4);
    let forms = [
        plain.replace('\n', "\r\n"),
        plain.replace('\n', "\r"),
        plain.replace("  ", "\t"),
        plain.replace("  ", " "),
        plain.replace("Iterations", "Iterations  Validation").replace("1000\n", "1000  Pass\n"),
    ];
    for form in forms {
        let other = parsed(&form);
        assert_eq!((&other.columns, numbers(&other)), (&table.columns, numbers(&table)), "{form}");
        assert_eq!(other.to_csv(), table.to_csv());
    }
}

#[test]
fn of_a_ping_pong_of_imb_the_time_is_read() {
    let table = parsed(
        "#------------------------------------------------------------\n\
         #    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n\
         # Date                  : Mon Nov 23 10:00:00 2026\n\n# PingPong\n\n\
         #---------------------------------------------------\n# Benchmarking PingPong \n\
         # #processes = 2 \n#---------------------------------------------------\n       \
         #bytes #repetitions      t[usec]   Mbytes/sec\n            \
         0         1000         0.89         0.00\n            \
         1         1000         0.90         1.11\n\n\n# All processes entering MPI_Finalize\n\n",
    );
    assert_eq!(table.program.map(|program| program.name), Some("IMB PingPong"));
    assert_eq!(table.to_csv(), "size,metric,value,unit\n0,latency,0.89,us\n1,latency,0.9,us\n");
    assert_eq!(table.title.as_deref(), Some("Benchmarking PingPong"));
}

#[test]
fn a_ping_pong_of_imb_out_of_a_spreadsheet_is_the_same() {
    let table = parsed(
        "#---------\n#\tBenchmarking\tPingPong\t\n#\t#processes\t=\t2\n#---------\n\
         #bytes\t#repetitions\tt[usec]\tMbytes/sec\t\n0\t1000\t1.16\t0.00\n1\t1000\t1.20\t0.83\n",
    );
    assert_eq!(table.program.map(|program| program.name), Some("IMB PingPong"));
    assert_eq!(table.to_csv(), "size,metric,value,unit\n0,latency,1.16,us\n1,latency,1.2,us\n");
}

#[test]
fn a_ping_pong_of_imb_without_its_time_is_refused() {
    wrong(
        "# Benchmarking PingPong\n #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n 4 10 1 2 1.5\n",
        "t.txt:2:1: no column is one that is read; a ping-pong of IMB needs its column `t[usec]`",
    );
}

#[test]
fn words_may_stand_in_the_first_column() {
    let table = parsed("# a remark\n# Algorithm         us per hand-over\nmpi2   3.351\nmcs 2.2\n");
    assert_eq!(
        table.to_csv(),
        "algorithm,metric,value,unit\nmpi2,hand-over,3.351,us\nmcs,hand-over,2.2,us\n"
    );
    assert_eq!(table.points(0), None);
    wrong("# Operation  us\nput 1\nput 2\n", "t.txt:3:1: `put` a second time");
}

#[test]
fn lines_of_launchers_are_left_out_with_a_warning() {
    let (table, said) = told(
        "srun: job 12 has been allocated resources\nloading modules\n# OSU MPI Latency Test v7.1\n\
         # Size  Latency (us)\n[n1:7] UCX  WARN  transport is slow\n1 1.5\n\
         [1763.2] [n1:7:0] parser.c:1 UCX WARN unused variables\n2 1.6\nall done\n",
    );
    assert_eq!(numbers(&table.unwrap()), [(1, vec![1.5]), (2, vec![1.6])]);
    assert!(said.starts_with("warning[E0911] t.txt:1:1: 5 lines that are no part"), "{said}");
    let head = "# Size  Latency (us)\n1 1.5\n";
    wrong(&format!("{head}some words\n2 1.6\n"), "t.txt:3:1: this line is no row");
    wrong(&format!("{head}2 [n1:7] UCX WARN\n3 1\n"), "t.txt:3:3: `[n1:7]` is no number");
}

#[test]
fn what_is_no_table_is_refused_with_its_line() {
    wrong("# Size  Latency (us)\n8 1.5\n16 x\n", "t.txt:3:4: `x` is no number");
    wrong("# Size  Latency (us)\n8 1.5\n16 nan\n", "`nan` is no number");
    wrong(
        "# Size  Latency (us)\n8 1.5\n16 1 2\n",
        "t.txt:3:1: 2 numbers behind the first; the lines above have 1",
    );
    wrong("# Size  Latency (us)\n", "no line of numbers");
    wrong("8 1.5\n", "no line with `# Size`");
    wrong("# OSU MPI Latency Test v7\n8 1.5\n", "t.txt:1:1: no line with `# Size` below it");
    wrong("{ \"schema\": 1 }", "no line of numbers");
    wrong("<?xml version=\"1.0\"?>\n<a>\n<b>\n1 2\n</b></a>\n", "this looks like XML");
    wrong(
        "# Size  Latency (us)\n8 1.5 2.5\n",
        "t.txt:1:1: heads for 1 columns behind the first; the lines below have 2",
    );
}

#[test]
fn what_cannot_have_been_measured_is_refused() {
    let head = "# Size  Latency (us)  Overlap(%)\n";
    wrong(&format!("{head}1 1.5 0\n2 -1.5 0\n"), "t.txt:3:3: Latency `-1.5`; a positive value");
    wrong(&format!("{head}1 0.00 0\n"), "t.txt:2:3: Latency `0.00`");
    wrong(&format!("{head}1 1.5 -7\n"), "t.txt:2:7: Overlap `-7`");
    wrong(&format!("{head}0 0 0\n"), "t.txt:2:3: Latency `0`");
    wrong("# Size  MB/s\n0 0.00\n1 0.00\n", "t.txt:3:3: Bandwidth `0.00`");
    wrong("# Size  MB/s\n1 1.5 Pass\n2 1.6 Fail\n", "t.txt:3:7: the benchmark found wrong data");
    wrong(&format!("{head}1,024 1.5 0\n"), "thousands stand without a separator");
    wrong(&format!("{head}8 1,5 0\n"), "t.txt:2:3: `1,5` is no number");
    wrong(
        &format!("{head}8 1.5 0\n8 1.5 0\n"),
        "t.txt:3:1: 8 behind 8; the first column must rise",
    );
}

#[test]
fn a_second_table_and_an_unknown_benchmark_are_refused() {
    let table = "# OSU MPI Latency Test v7.1\n# Size  Latency (us)\n1 1.5\n";
    wrong(&table.repeat(2), "t.txt:4:1: a second table begins; one table a file is read");
    let barrier = table.replace("Latency Test", "Barrier Latency Test");
    wrong(&barrier, "t.txt:1:1: `OSU MPI Barrier Latency Test v7.1` is no benchmark");
    wrong(
        "# Benchmarking Allreduce\n #bytes #repetitions  t_min[usec]  t_max[usec]\n 4 10 1 2\n",
        "`Benchmarking Allreduce` is no benchmark whose tables are read; those are osu_latency, osu_bw",
    );
}

/// One of each form of table.
const FORMS: [&str; 6] = [
    "# OSU MPI Latency Test v7.1\n# Size          Latency (us)\n1     1.30\n2   1.31\n",
    "# OSU MPI Multiple Bandwidth / Message Rate Test v7.1\n# [ pairs: 2 ]\n\
     # Size      MB/s    Messages/s\n1    11.40   11400518.01\n4  45.42  11354543.86\n",
    "# Block B  <        GB/s\n4                  0.475 1.0\n        29.477 3.2\n",
    "#\tBenchmarking\tPingPong\t\n#bytes\t#repetitions\tt[usec]\tMbytes/sec\n0\t10\t1.1\t0\n1\t10\t1.2\t0.8\n",
    "# a remark\n# Algorithm         us per hand-over\nmpi2   3.351\nmcs 2.2\n",
    "srun: begun\n# OSU MPI Bandwidth Test v7.1\n# Size  GB/s  Validation\n8  1.5  Pass\n16  2.5  Pass\nall done\n",
];

/// Whatever is cut off, left out or doubled, a table has a value for each column, or it is refused.
#[test]
fn a_table_of_which_something_is_missing_is_one_or_is_refused() {
    let check = |text: &str| {
        let (table, why) = told(text);
        match table {
            Some(table) => {
                assert!(!table.rows.is_empty(), "{text}");
                let columns = table.columns.len();
                let fits = |row: &Row| row.values.len() == columns;
                assert!(columns > 0 && table.rows.iter().all(fits), "{text}");
                let _ = table.to_csv();
            }
            None => assert!(why.contains("error["), "{text}"),
        }
    };
    check("# Block B  <        GB/s\n4                  0.475\n        29.477$");
    check("# Block B  <        GB/s\n4                  0.475\n        29.477\n");
    for text in FORMS {
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            check(&text[..cut]);
            check(&text[cut..]);
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let words: Vec<&str> = text.split_inclusive([' ', '\t', '\n']).collect();
        for parts in [&lines, &words] {
            for at in 0..parts.len() {
                let (before, behind) = (parts[..at].concat(), parts[at + 1..].concat());
                check(&format!("{before}{behind}"));
                check(&format!("{before}{0}{0}{behind}", parts[at]));
            }
        }
    }
}
