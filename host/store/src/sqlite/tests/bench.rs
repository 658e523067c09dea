use super::*;
use std::time::Instant;
use std::sync::Arc;
#[test]
fn bench() {
    if std::env::var_os("BENCH").is_none() { return }
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(async {
        let folder = tempfile::tempdir_in(std::env::var("BENCH").unwrap()).unwrap();
        let path = folder.path().join("d/r.db");
        let t = Instant::now();
        let store = Arc::new(SqliteStore::open(&path, OpenOptions::default()).await.unwrap());
        println!("first open {:?}", t.elapsed());
        let mut tale = told(&*store, "ses_one", 1).await; tale.payload_bytes = 150;
        for round in 0..4 {
            let n = 2000u32;
            let appends: Vec<_> = (0..n).map(|_| tale.append(3)).collect();
            let mut lat = vec![];
            let t = Instant::now();
            for a in appends { let t = Instant::now(); store.append(a).await.unwrap(); lat.push(t.elapsed()); }
            lat.sort();
            // floor
            let f = std::fs::File::create(folder.path().join("floor")).unwrap();
            use std::os::unix::fs::FileExt;
            f.write_all_at(&[0;4096],0).unwrap(); f.sync_all().unwrap();
            let mut fl = vec![]; for _ in 0..300 { let t=Instant::now(); f.write_all_at(&[1;4096],0).unwrap(); f.sync_data().unwrap(); fl.push(t.elapsed()); } fl.sort();
            println!("seq round {round}: {:.0}/s p50 {:?} p99 {:?} floor {:?}", n as f64 / t.elapsed().as_secs_f64(), lat[lat.len()/2], lat[lat.len()*99/100], fl[150]);
        }
        for round in 0..3 {
            let mut tasks = vec![];
            let mut all = vec![];
            for i in 0..64 { let mut t = told(&*store, &format!("ses_{round}x{i}"), 1).await; t.payload_bytes=150; let a: Vec<_> = (0..300).map(|_| t.append(3)).collect(); all.push(a); }
            let c = store.commits();
            let t = Instant::now();
            for a in all { let s = store.clone(); tasks.push(tokio::spawn(async move { let mut l = vec![]; for a in a { let t=Instant::now(); s.append(a).await.unwrap(); l.push(t.elapsed()); } l })); }
            let mut lat = vec![]; for x in tasks { lat.extend(x.await.unwrap()); }
            lat.sort();
            println!("64 round {round}: {:.0} appends/s, {} commits p50 {:?} p99 {:?}", lat.len() as f64 / t.elapsed().as_secs_f64(), store.commits()-c, lat[lat.len()/2], lat[lat.len()*99/100]);
        }
        let t = Instant::now();
        let mut n=0; let mut after=0; loop { let r = store.read(&tale.session, after, 5000).await.unwrap(); if r.is_empty() {break} n+=r.len(); after=r.last().unwrap().seq; }
        println!("read {n} in {:?}", t.elapsed());
        println!("wal {:?}", std::fs::metadata(folder.path().join("d/r.db-wal")).unwrap().len());
        let t = Instant::now(); store.close().await; println!("close {:?}", t.elapsed());
        println!("db {:?}", std::fs::metadata(&path).unwrap().len());
        let t = Instant::now();
        let store = SqliteStore::open(&path, OpenOptions::default()).await.unwrap();
        println!("open {:?}", t.elapsed());
        store.head(&tale.session).await.unwrap();
        println!("open+head {:?}", t.elapsed());
        store.close().await;
    });
}
